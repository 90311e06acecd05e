import edu.uci.ics.crawler4j.crawler.CrawlConfig;
import edu.uci.ics.crawler4j.crawler.CrawlController;
import edu.uci.ics.crawler4j.crawler.Page;
import edu.uci.ics.crawler4j.crawler.WebCrawler;
import edu.uci.ics.crawler4j.fetcher.PageFetcher;
import edu.uci.ics.crawler4j.robotstxt.RobotstxtConfig;
import edu.uci.ics.crawler4j.robotstxt.RobotstxtServer;
import edu.uci.ics.crawler4j.url.WebURL;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.any23.Any23;
import org.apache.any23.extractor.ExtractionException;
import org.apache.any23.source.ByteArrayDocumentSource;
import org.apache.any23.writer.NQuadsWriter;
import org.apache.any23.writer.TripleHandler;
import org.apache.any23.writer.TripleHandlerException;

/**
 * Crawls every page that can be reached from the seeds, with crawler4j, and extracts RDFa with Any23.
 *
 * <pre>Peer DIRECTORY SEEDS</pre>
 *
 * DIRECTORY gets pages.txt, the URL of each answer, and a file of N-Quads from each thread.
 */
public class Peer {
  private static final int AT_ONCE = 16;

  public static void main(String[] arguments) throws Exception {
    Path directory = Path.of(arguments[0]);
    CrawlConfig config = new CrawlConfig();
    config.setCrawlStorageFolder(directory.resolve("crawl4j").toString());
    config.setPolitenessDelay(0);
    // It looks once in so many seconds whether it is done, and waits twice as long to be sure.
    config.setThreadMonitoringDelaySeconds(1);
    config.setThreadShutdownDelaySeconds(1);
    config.setCleanupDelaySeconds(1);

    PageFetcher fetcher = new PageFetcher(config);
    RobotstxtServer robots = new RobotstxtServer(new RobotstxtConfig(), fetcher);
    CrawlController controller = new CrawlController(config, fetcher, robots);
    try (PrintWriter pages = new PrintWriter(Files.newBufferedWriter(directory.resolve("pages.txt")))) {
      System.out.println("begin");
      for (String seed : Files.readAllLines(Path.of(arguments[1]))) {
        controller.addSeed(seed);
      }
      controller.start(() -> new Extractor(directory, pages), AT_ONCE);
    }
    System.out.println("end");
    // What it has used is read before it is gone.
    System.in.read();
    System.exit(0);
  }

  /** A thread of the crawler: follows every link, and writes the triples of each page. */
  private static class Extractor extends WebCrawler {
    private final Path directory;
    private final PrintWriter pages;
    private final Any23 any23 = new Any23("html-rdfa11");
    private TripleHandler quads;

    Extractor(Path directory, PrintWriter pages) {
      this.directory = directory;
      this.pages = pages;
    }

    @Override
    public void onStart() {
      try {
        Path file = directory.resolve("quads-" + getMyId() + ".nq");
        quads = new NQuadsWriter(new BufferedOutputStream(Files.newOutputStream(file)));
      } catch (IOException error) {
        throw new UncheckedIOException(error);
      }
    }

    @Override
    public boolean shouldVisit(Page page, WebURL url) {
      return true;
    }

    @Override
    public void visit(Page page) {
      String url = page.getWebURL().getURL();
      synchronized (pages) {
        pages.println(url);
      }
      try {
        any23.extract(new ByteArrayDocumentSource(page.getContentData(), url, "text/html"), quads);
      } catch (IOException | ExtractionException error) {
        throw new IllegalStateException(url, error);
      }
    }

    @Override
    public void onBeforeExit() {
      try {
        quads.close();
      } catch (TripleHandlerException error) {
        throw new IllegalStateException(error);
      }
    }
  }
}

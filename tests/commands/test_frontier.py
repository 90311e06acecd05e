from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import redis

from rdfaspider.frontier.engine.local import LocalFrontier
from rdfaspider.frontier.limits import FrontierLimits
from rdfaspider.frontier.politeness import Politeness
from rdfaspider.frontier.sharding import Shard, shard_of
from rdfaspider.frontier.views.reader import FrontierReader
from rdfaspider.service.replica.client import ReplicatedFrontier
from tests.frontier import redis_servers

if TYPE_CHECKING:
    from tests.commands.conftest import AtTerminal, IntoHead
    from tests.conftest import Scrapy


@pytest.fixture
def crawl_directory(tmp_path: Path) -> Path:
    """Leave a frontier with a URL in each state."""
    path = tmp_path / "crawl" / "frontier"
    with LocalFrontier(str(path), politeness=Politeness(delay=0.0)) as frontier:
        frontier.put([f"http://a.test/{n}" for n in range(5)] + ["http://b.test/"])
        for state in ("done", "failed", "failed", "denied"):
            taken = frontier.take(0.0)
            assert taken
            frontier.finish(taken, state, 0.0)
    return path


def test_states_add_up_and_hosts_are_listed(scrapy: Scrapy, crawl_directory: Path) -> None:
    result = scrapy("frontier")
    assert result.returncode == 0, result.stderr
    assert "6 URLs = 1 done + 2 failed + 1 denied + 2 waiting" in result.stdout
    assert "a.test: " in result.stdout
    assert "is ready" in result.stdout


def test_a_running_crawl_can_be_looked_at(scrapy: Scrapy, crawl_directory: Path) -> None:
    with LocalFrontier(str(crawl_directory)):
        result = scrapy("frontier")
    assert result.returncode == 0, result.stderr
    assert "6 URLs" in result.stdout


def test_one_url(scrapy: Scrapy, crawl_directory: Path) -> None:
    shown = scrapy("frontier", "--url", "HTTP://b.test")
    assert shown.stdout.startswith("http://b.test/\n  state     ")


def test_a_number_and_its_url(scrapy: Scrapy, crawl_directory: Path) -> None:
    number = scrapy("frontier", "--number", "HTTP://b.test").stdout
    assert scrapy("frontier", "--number", number.strip()).stdout == "http://b.test/\n"
    unknown = scrapy("frontier", "--number", str(10**30))
    assert unknown.returncode == 1
    assert f"{10**30} is not known to this crawl." in unknown.stderr


@pytest.mark.parametrize("shards", [1, 3])
def test_every_number_is_that_of_one_url(tmp_path: Path, shards: int) -> None:
    numbered: dict[int, str | None] = {}
    urls = [f"http://h{n}.test/" for n in range(20)]
    for shard in range(shards):
        own = [url for url in urls if shard_of(url, shards) == shard]
        with LocalFrontier(str(tmp_path / f"{shard}"), shard=Shard(shard, shards)) as frontier:
            frontier.put(own)
            frontier.wait(0.0)
        with FrontierReader(str(tmp_path / f"{shard}"), delay=0.0) as reader:
            numbers = [number for url in own if (number := reader.number_of(url)) is not None]
            numbered |= {number: reader.url_of(number) for number in numbers}
    assert sorted(filter(None, numbered.values())) == sorted(urls)


@pytest.mark.parametrize(
    ("prefix", "rows"),
    [
        ("test", ["5 2 1 1 1 http://a.test/", "1 0 0 1 0 http://b.test/"]),
        ("a.test", ["5 2 1 1 1 http://a.test/"]),
        ("a.tes", []),
        ("HTTP://b.test", ["1 0 0 1 0 http://b.test/"]),
        ("http://a.test/", []),
        ("nowhere.test", []),
    ],
)
def test_branches_of_the_trie(
    scrapy: Scrapy, crawl_directory: Path, prefix: str, rows: list[str]
) -> None:
    shown = scrapy("frontier", "--under", prefix)
    assert shown.returncode == 0, shown.stderr
    head, *lines = shown.stdout.splitlines()
    assert head.split() == ["URLs", "waiting", "done", "failed", "denied"]
    if prefix == "http://a.test/":
        assert [line.split()[-1] for line in lines] == [f"http://a.test/{n}" for n in range(5)]
    else:
        assert [" ".join(line.split()) for line in lines] == rows


def test_what_is_known_of_a_failed_url(scrapy: Scrapy, tmp_path: Path) -> None:
    path = tmp_path / "crawl" / "frontier"
    with LocalFrontier(str(path), politeness=Politeness(delay=0.0)) as frontier:
        frontier.put(["http://a.test/"])
        first = frontier.take(1e9)
        assert first
        frontier.finish(first, "done", 1e9, ["http://a.test/gone", "http://a.test/secret"])
        for attempt in (0, 1):
            while (taken := frontier.take(1e9 + attempt)) is not None:
                if taken.url.endswith("secret"):
                    frontier.finish(taken, "denied", 1e9, reason="robots")
                elif attempt == 0:
                    frontier.retry(taken, 1e9, reason="TimeoutError", after=1.0)
                else:
                    frontier.finish(taken, "failed", 1e9 + 1, reason="410", status=410)
    heading = "status\tattempts\ttime\treason\tURL\tfound on\n"
    assert scrapy("frontier", "--failed").stdout == heading + (
        "410\t2\t2001-09-09T01:46:41Z\t410\thttp://a.test/gone\thttp://a.test/\n"
    )
    assert scrapy("frontier", "--failed", "nowhere").stdout == ""
    assert scrapy("frontier", "--denied").stdout == heading + (
        "-\t0\t2001-09-09T01:46:40Z\trobots\thttp://a.test/secret\thttp://a.test/\n"
    )
    assert scrapy("frontier", "--url", "http://a.test/gone").stdout == (
        "http://a.test/gone\n"
        "  state     failed\n"
        "  depth     1\n"
        "  number    1\n"
        "  attempts  2\n"
        "  status    410\n"
        "  reason    410\n"
        "  time      2001-09-09T01:46:41Z\n"
        "  found on  http://a.test/\n"
    )


def test_a_crawl_keeps_why_urls_failed(scrapy: Scrapy, branching_site: str, tmp_path: Path) -> None:
    settings: dict[str, object] = {"FRONTIER_RETRIES": 1, "FRONTIER_RETRY_DELAY": 0}
    settings |= {"POLITENESS_DELAY": 0, "POLITENESS_BACKOFF": 0}
    (tmp_path / "seeds.txt").write_text(f"{branching_site}404\n{branching_site}503\n")
    scrapy("crawl", "rdfa", "-a", "seeds=seeds.txt", "-a", "depth=0", **settings)
    _, *lines = map(str.split, scrapy("frontier", "--failed").stdout.splitlines())
    assert [(status, attempts, reason, url) for status, attempts, _, reason, url, _ in lines] == [
        ("404", "1", "404", f"{branching_site}404"),
        ("503", "2", "503", f"{branching_site}503"),
    ]
    assert all(line[2].startswith("20") and line[5] == "-" for line in lines)


def test_a_terminal_gets_aligned_columns(at_terminal: AtTerminal, crawl_directory: Path) -> None:
    heading, *rows, _ = at_terminal("frontier", "--failed").lines
    assert len(rows) == 2
    assert heading.split() == ["status", "attempts", "time", "reason", "URL", "found", "on"]
    assert {row.index("http://") for row in rows} == {heading.index("URL")}


def test_a_user_s_password_is_not_shown(scrapy: Scrapy, tmp_path: Path) -> None:
    path = tmp_path / "crawl" / "frontier"
    with LocalFrontier(str(path), politeness=Politeness(delay=0.0)) as frontier:
        frontier.put(["http://me:sesame@a.test/"])
        taken = frontier.take(0.0)
        assert taken
        frontier.finish(taken, "failed", 0.0)
    for arguments in (["--failed"], ["--url", "http://me:sesame@a.test/"]):
        shown = scrapy("frontier", *arguments).stdout
        assert "http://a.test/" in shown
        assert "sesame" not in shown
    assert "sesame" not in scrapy("frontier", "--url", "http://me:sesame@b.test/").stderr


@pytest.mark.slow
def test_failed_urls_can_be_tried_again(scrapy: Scrapy, crawl_directory: Path) -> None:
    _, *lines = scrapy("frontier", "--failed", "").stdout.splitlines()
    failed = [line.split("\t")[4] for line in lines]
    assert len(failed) == 2
    result = scrapy("frontier", "--requeue", "^" + failed[0] + "$")
    assert result.stdout.startswith("1 failed URLs wait again")
    assert "1 failed + 1 denied + 3 waiting" in scrapy("frontier").stdout
    with LocalFrontier(str(crawl_directory), politeness=Politeness(delay=0.0)) as frontier:
        taken = set()
        while (url := frontier.take(0.0)) is not None:
            taken.add(url.url)
            frontier.finish(url, "done", 0.0)
        assert failed[0] in taken
        assert failed[1] not in taken


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["-s", "JOBDIR=nowhere"], "There is no frontier in nowhere/frontier"),
        (["-s", "JOBDIR=file"], "There is no frontier in file/frontier"),
        (["--requeue", ".", "-s", "JOBDIR=file"], "There is no frontier in file/frontier"),
        (["-s", "JOBDIR=damaged"], "damaged/frontier is damaged"),
        (["--failed", "("], "'(' is not a regular expression: missing )"),
        (["--denied", "*"], "'*' is not a regular expression"),
        (["--requeue", "["], "'[' is not a regular expression"),
        (["--url", "nonsense"], "Not a URL"),
        (["--url", ""], "Not a URL"),
        (["--url", "http://c.test/"], "http://c.test/ is not known to this crawl."),
        (["--hosts", "-1"], "--hosts must be 0 or more, not -1."),
        (["--failed", "--denied"], "--failed and --denied cannot be combined."),
        (["--failed", "--pause"], "--failed and --pause cannot be combined."),
        (["--pause"], "are for workers"),
        (["--tell", "nonsense"], "are for workers"),
        (["everything"], "It takes options only, not everything"),
        (["-s", "FRONTIER_URL=gopher://x"], "FRONTIER_URL=gopher://x is wrong"),
    ],
)
def test_a_mistake_is_answered_by_a_sentence(
    scrapy: Scrapy, crawl_directory: Path, tmp_path: Path, arguments: list[str], sentence: str
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "damaged" / "frontier").mkdir(parents=True)
    (tmp_path / "damaged" / "frontier" / "CURRENT").write_text("MANIFEST-000001\n")
    before = sorted(tmp_path.rglob("*"))
    result = scrapy("frontier", *arguments)
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr.startswith("scrapy frontier: ")
    assert sentence in result.stderr
    assert result.stderr.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == before, "nothing is created"


def test_a_damaged_file_is_not_passed_over(scrapy: Scrapy, tmp_path: Path) -> None:
    path = tmp_path / "crawl" / "frontier"
    with LocalFrontier(str(path), politeness=Politeness(delay=0.0)) as frontier:
        frontier.put([f"http://h{number % 50}.test/{number}" for number in range(30_000)])
    large = [file for file in path.glob("*.sst") if file.stat().st_size > 50_000]
    assert large
    for file in large:  # that of the URLs, which the commands read, is among them
        body = bytearray(file.read_bytes())
        body[len(body) // 2 : len(body) // 2 + 100] = bytes(100)
        file.write_bytes(body)
    results = [scrapy("frontier", "--failed"), scrapy("frontier", "--url", "http://h1.test/1")]
    assert any("is damaged (Corruption" in result.stderr for result in results)
    assert not any("Traceback" in result.stderr for result in results)


def failed_with_an_umlaut(path: Path) -> None:
    with LocalFrontier(str(path), politeness=Politeness(delay=0.0, at_once=9999)) as frontier:
        frontier.put([f"http://h{number}.test/{'x' * 99}" for number in range(2_000)])
        while (taken := frontier.take(0.0)) is not None:
            frontier.finish(taken, "failed", 0.0, reason="Zeitüberschreitung")


@pytest.mark.parametrize("arguments", [["--failed"], ["--hosts", "2000"]])
def test_a_reader_that_has_enough_ends_it_silently(
    into_head: IntoHead, tmp_path: Path, arguments: list[str]
) -> None:
    failed_with_an_umlaut(tmp_path / "crawl" / "frontier")
    piped = into_head("frontier", *arguments)
    assert piped.line
    assert (piped.errors, piped.code) == ("", 0)


def test_a_terminal_without_umlauts_gets_escapes(at_terminal: AtTerminal, tmp_path: Path) -> None:
    failed_with_an_umlaut(tmp_path / "crawl" / "frontier")
    shown = at_terminal("frontier", "--failed", encoding="ascii")
    assert shown.code == 0
    assert "Zeit\\xfcberschreitung" in shown.text


def test_a_running_crawl_is_not_requeued(scrapy: Scrapy, crawl_directory: Path) -> None:
    with LocalFrontier(str(crawl_directory)):
        result = scrapy("frontier", "--requeue", ".")
    assert result.returncode == 1
    assert "in use by another crawl" in result.stderr


@contextlib.contextmanager
def shared_frontier(directory: Path) -> Iterator[tuple[str, ReplicatedFrontier]]:
    """Open a frontier by way of Redis with a node of its own; yield its URL too."""
    with redis_servers.server(directory / "redis") as server:
        options: dict[str, Any] = {"read_ahead": 0, "politeness": Politeness(delay=0.0)}
        path = str(directory / "crawl" / "frontier")
        with ReplicatedFrontier(server.url, path=path, worker="one", **options) as frontier:
            yield server.url, frontier


@pytest.mark.slow
def test_failed_urls_of_a_shared_crawl_can_be_tried_again(scrapy: Scrapy, tmp_path: Path) -> None:
    with shared_frontier(tmp_path) as (url, frontier):
        frontier.put(["http://a.test/1", "http://b.test/2"])
        for _ in range(2):
            while not (taken := frontier.take(0.0)):
                time.sleep(0.05)
            frontier.finish(taken, "failed", 0.0, reason="gone for good", status=404)
        options = {"FRONTIER_URL": url}
        listed = scrapy("frontier", "--failed", "b.test", **options)
        row = listed.stdout.partition("\n")[2].split("\t")
        assert (row[:2], row[3:]) == (["404", "1"], ["gone for good", "http://b.test/2", "-\n"]), (
            row
        )
        assert scrapy("frontier", "--denied", **options).stdout == ""
        result = scrapy("frontier", "--requeue", "b.test", **options)
        assert result.stdout.startswith("1 failed URLs wait again"), result.stderr
        assert "1 failed + 0 denied + 1 waiting" in scrapy("frontier", **options).stdout
        shown = scrapy("frontier", "--url", "http://b.test/2", **options)
        assert shown.stdout.startswith("http://b.test/2\n  state     waiting\n  depth     0\n")
        assert "not known" in scrapy("frontier", "--url", "http://c.test/", **options).stderr
        for wrong in ("nonsense", "delay=fast", "delay"):
            told = scrapy("frontier", "--tell", wrong, "--pause", **options)
            assert (told.returncode, told.stderr.count("\n")) == (1, 1)
        assert "The workers run;" in scrapy("frontier", **options).stdout, "nobody is to pause"


@pytest.mark.slow
def test_the_copy_of_a_shared_crawl_is_shown_when_no_worker_runs(
    scrapy: Scrapy, tmp_path: Path
) -> None:
    with redis_servers.server(tmp_path / "redis") as server:
        options = {"FRONTIER_URL": server.url}
        nothing = scrapy("frontier", **options)
        assert "There is no crawl rdfa in Redis" in nothing.stderr
        path = str(tmp_path / "crawl" / "frontier")
        with ReplicatedFrontier(server.url, path=path, read_ahead=0) as frontier:
            frontier.put(["http://a.test/1", "http://b.test/2"])
        shown = scrapy("frontier", **options)
        assert "2 URLs = 0 done + 0 failed + 0 denied + 2 waiting" in shown.stdout, shown.stderr
        assert (
            shown.stderr
            == f"No worker is running; this is the copy that the last one left in {path}.\n"
        )
        Path(path).rename(tmp_path / "moved")
        for arguments in ((), ("--requeue", ".")):
            refused = scrapy("frontier", *arguments, **options)
            assert refused.returncode == 1
            assert "No worker of the crawl rdfa runs" in refused.stderr
            assert path in refused.stderr


class Branching(BaseHTTPRequestHandler):
    """A root with 40 links, whose pages have ten links each that nobody else has."""

    def do_GET(self) -> None:
        if self.path in ("/404", "/503"):
            self.send_error(int(self.path[1:]))
            return
        depth = 0 if self.path == "/" else self.path.count("/")
        children = {0: 40, 1: 10}.get(depth, 0)
        path = self.path.rstrip("/")
        links = "".join(f'<a href="{path}/{number}">link</a>' for number in range(children))
        body = b"" if self.path == "/robots.txt" else f"<html><body>{links}".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def branching_site() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Branching) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


SUM = r"(\d+) URLs = (\d+) done \+ 0 failed \+ 0 denied \+ (\d+) waiting"


def check_sum(output: str) -> None:
    """Check that all links of the pages that are done are counted."""
    found = re.search(SUM, output)
    assert found, output
    seen, done, waiting = map(int, found.groups())
    assert done > 3
    assert seen == 1 + 40 + 10 * (done - 1) == done + waiting


@pytest.mark.parametrize("kind", ["local", "shared"])
def test_a_crawl_that_was_stopped_says_how_much_is_left(
    scrapy: Scrapy, branching_site: str, tmp_path: Path, kind: str
) -> None:
    """Stop in the midst of a queue page, when new links are not looked up yet."""
    options: dict[str, object] = {"POLITENESS_DELAY": 0, "CLOSESPIDER_PAGECOUNT": 12}
    with contextlib.ExitStack() as stack:
        if kind == "shared":
            server = stack.enter_context(redis_servers.server(tmp_path / "redis"))
            options["FRONTIER_URL"] = server.url
        crawled = scrapy("crawl", "rdfa", "-a", f"seeds={branching_site}", **options)
        assert "closespider_pagecount" in crawled.stderr, crawled.stderr
        check_sum(crawled.stderr)
        check_sum(scrapy("frontier", **options).stdout)


def test_pages_in_flight_of_a_shared_crawl_are_in_the_sum(scrapy: Scrapy, tmp_path: Path) -> None:
    with shared_frontier(tmp_path) as (url, frontier):
        frontier.put(["http://a.test/1", "http://a.test/2", "http://b.test/"])
        while not frontier.take(time.time()):
            time.sleep(0.05)
        shown = scrapy("frontier", FRONTIER_URL=url)
        assert "3 URLs = 0 done + 0 failed + 0 denied + 3 waiting" in shown.stdout, shown.stderr


def test_links_beyond_a_limit_name_it(scrapy: Scrapy, tmp_path: Path) -> None:
    path = tmp_path / "crawl" / "frontier"
    with LocalFrontier(str(path), limits=FrontierLimits(host_urls=3)) as frontier:
        frontier.put([f"http://a.test/{n}" for n in range(5)], depth=1)
    shown = scrapy("frontier", FRONTIER_HOST_URLS=9)
    assert "2 links beyond FRONTIER_HOST_URLS=3, not taken in\n" in shown.stdout, shown.stderr


def test_requeueing_keeps_links_that_were_not_looked_up(scrapy: Scrapy, tmp_path: Path) -> None:
    path = tmp_path / "crawl" / "frontier"
    frontier = LocalFrontier(str(path), order="roundrobin", limits=FrontierLimits(depth=2))
    frontier.put(["http://a.test/", "http://b.test/"])
    for state in ("failed", "done"):
        taken = frontier.take(0.0)
        assert taken
        frontier.finish(taken, state, 0.0, ["http://c.test/1", "http://c.test/2"])
    frontier._database.close()  # as after a kill
    assert scrapy("frontier", "--requeue", ".").stdout.startswith("1 failed URLs wait again")
    shown = scrapy("frontier").stdout
    assert "4 URLs = 1 done + 0 failed + 0 denied + 3 waiting" in shown
    assert "beyond" not in shown


def test_a_password_is_never_shown(scrapy: Scrapy, tmp_path: Path) -> None:
    with redis_servers.server(tmp_path / "redis") as server:
        with server.client() as client:
            client.config_set("requirepass", "right")
        for url in (
            f"redis://:sesame@127.0.0.1:{server.port}/0",
            f"redis://127.0.0.1:{server.port}/0?password=sesame",
        ):
            result = scrapy("frontier", FRONTIER_URL=url)
            assert result.returncode == 1
            assert result.stderr.startswith("scrapy frontier: Redis at redis://")
            assert result.stderr.count("\n") == 1
            assert "sesame" not in result.stdout + result.stderr
        with redis.Redis(port=server.port, password="right") as client:
            client.config_set("requirepass", "")


@pytest.mark.parametrize("end", ["0?colour=red", "0?crawl=other", "none"])
def test_a_wrong_address_is_said(scrapy: Scrapy, tmp_path: Path, end: str) -> None:
    with redis_servers.server(tmp_path / "redis") as server:
        result = scrapy("frontier", FRONTIER_URL=f"redis://127.0.0.1:{server.port}/{end}")
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1, result.stderr


def test_the_failed_urls_of_a_shard_wait_again_without_its_service(
    scrapy: Scrapy, tmp_path: Path
) -> None:
    path = str(tmp_path / "crawl" / "frontier")
    with LocalFrontier(path, shard=(1, 2)) as frontier:
        frontier.put(["http://a.test/"])
        taken = frontier.take(0.0)
        assert taken
        frontier.finish(taken, "failed", 0.0, reason="timeout")
    assert scrapy("frontier", "--requeue", ".").stdout.startswith("1 failed URLs wait again")
    with LocalFrontier(path, shard=(1, 2)) as frontier:
        assert frontier.counts().waiting == 1

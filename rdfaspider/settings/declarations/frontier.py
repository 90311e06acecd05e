"""Settings of the frontier, alone or shared."""

from rdfaspider.fetchmeta import MAX_DEPTH
from rdfaspider.focus.visits.planner import MOST_RANK
from rdfaspider.settings.setting import Setting, number, whole

SETTINGS = (
    Setting(
        "FRONTIER_URL",
        "{jobdir}/frontier",
        "Where the frontier is: a directory; `unix:PATH` or `frontier://HOST:PORT` to work for a service, or"
        " several of these, separated by commas, one per shard; `redis://HOST:PORT/0?crawl=NAME` to share a"
        " crawl through Redis ([service.md](service.md)). `{jobdir}` stands for `JOBDIR`.",
        secret=True,
        syntax="rdfaspider.settings.syntax.frontier_url",
        given_kind="url",
    ),
    Setting(
        "FRONTIER_ORDER",
        "breadth",
        "Which waiting URLs come first ([orders.md](orders.md)). A crawl keeps the order it began with."
        " An order of your own is named by its dotted path ([library.md](library.md#your-own-parts)).",
        choices=("breadth", "roundrobin", "topwindow", "leafwindow", "profit", "topics", "harvest"),
        open=True,
        syntax="rdfaspider.frontier.orders.order_class",
    ),
    whole(
        "FRONTIER_WINDOW",
        "hosts or leaves",
        0,
        "Width of the window of the orders `topwindow` and `leafwindow`; 0 means one host, or all leaves of a"
        " host that are in memory. A crawl keeps the window it began with.",
        most=1000,
    ),
    Setting(
        "FRONTIER_RANKING",
        "off",
        "What comes first within that window: what is left, or the page of highest `profit`.",
        choices=("off", "profit"),
    ),
    Setting(
        "FRONTIER_OBJECTIVE",
        "any",
        "What the order `harvest` looks for: `any`, `new`, `vocabulary:IRI` or `type:IRI`.",
        syntax="rdfaspider.focus.objectives.objective",
    ),
    # A crawl of a few hours is ranked a dozen times, each time when it has grown by a quarter.
    number(
        "FRONTIER_RANK_EVERY",
        "seconds",
        60.0,
        "Compute PageRank of all known URLs beside the crawl, for the orders `profit`, `topics` and"
        " `harvest` and for revisits, at most this often ([orders.md](orders.md)); 0 never does. It needs"
        " `LINKGRAPH` and numpy.",
    ),
    Setting(
        "FRONTIER_TOPICS",
        "",
        "The topics file; the order `topics` needs one. Its seeds are added to those of the crawl.",
    ),
    whole(
        "FRONTIER_GUESSES",
        "fetches",
        0,
        "Speculative fetches allowed per host: the folders of its pages, and the next number in a"
        " series. Guesses that hit pay for more; 0 makes none.",
    ),
    # Relative links of a copy lead to other URLs, whose pages may be found nowhere else.
    Setting(
        "FRONTIER_FOLLOW_COPIES",
        True,
        "Follow the links of a page although another page had the same body before; 0 follows them once, from"
        " the page that ended first ([pages.md](pages.md#copies)).",
    ),
    Setting(
        "FRONTIER_REVISIT",
        False,
        "Visit pages again when they may have changed, until stopped ([freshness.md](freshness.md)).",
    ),
    Setting(
        "FRONTIER_REVISIT_DUE",
        False,
        "With `FRONTIER_REVISIT`, visit new pages and those that are due at the start, then end: for runs by"
        " cron or systemd ([operations.md](operations.md#runs-by-the-clock)).",
    ),
    number(
        "FRONTIER_REVISIT_MEAN",
        "seconds",
        604_800.0,
        "The budget of revisits: the time between two visits of a page, over all pages; 0 means as often as"
        " hosts and workers allow.",
    ),
    number(
        "FRONTIER_REVISIT_SHARE",
        "share",
        0.5,
        "The most of the fetches that are revisits while new pages are ready.",
        most=1,
    ),
    number(
        "FRONTIER_REVISIT_SHORTEST",
        "seconds",
        3_600.0,
        "The shortest time between two visits of a page.",
        above=0,
    ),
    number(
        "FRONTIER_REVISIT_LONGEST",
        "seconds",
        0.0,
        "The longest time between two visits of a page; 0 means 36 times the mean, at least 90 days. All"
        " pages are priced again 100 times in it.",
    ),
    number(
        "FRONTIER_REVISIT_EVERY",
        "seconds",
        0.0,
        "A fixed time between two visits, for all pages (row R17); 0 lets what a visit brings decide.",
    ),
    number(
        "FRONTIER_REVISIT_MISSED",
        "seconds",
        86_400.0,
        "Try a page again after this long that was not found.",
        above=0,
    ),
    # Visits follow the root of a weight, so the best pages are visited twice as often as the mean.
    Setting(
        "FRONTIER_REVISIT_RANK",
        4.0,
        "How much PageRank counts for revisits: it multiplies or divides the weight of a page at most this"
        " many times. 1 leaves it out, and so does a crawl without ranks (`FRONTIER_RANK_EVERY`).",
        unit="times",
        least=1,
        most=MOST_RANK,
    ),
    Setting(
        "FRONTIER_REVISIT_POLICY",
        "value",
        "Which pages are visited again: `value` visits a page when that brings the price, `wire` chooses"
        " cycles of URLs by WIRE's profit (row W1, [freshness.md](freshness.md#wires-manager)).",
        choices=("value", "wire"),
    ),
    whole(
        "FRONTIER_REVISIT_CYCLE",
        "URLs",
        100_000,
        "With the policy `wire`, how many URLs are in a cycle, new and known ones.",
        least=1,
        most=1_000_000,
    ),
    # Well above any download.
    number(
        "FRONTIER_LEASE",
        "seconds",
        600.0,
        "Hand a URL out again if it is still in flight after this long.",
        above=0,
    ),
    # Pages, and those with a query in particular, can be generated without end (row W8).
    whole(
        "FRONTIER_DEPTH",
        "links",
        15,
        "How many links away from a seed a page may be, unless `-a depth=` says otherwise.",
        most=MAX_DEPTH,
    ),
    whole("FRONTIER_DYNAMIC_DEPTH", "links", 5, "The same for URLs with a query.", most=MAX_DEPTH),
    whole(
        "FRONTIER_HOST_DEPTH",
        "folders",
        MAX_DEPTH,
        "How many folders below the name of its host a page may be: with 1, `/a/b` is accepted and `/a/b/c`"
        " is not. Seeds always are.",
        most=MAX_DEPTH,
    ),
    whole(
        "FRONTIER_HOST_URLS",
        "URLs",
        25_000,
        "Accept at most this many URLs of one host in the whole crawl.",
        least=1,
    ),
    whole(
        "FRONTIER_HOST_WAITING",
        "URLs",
        25_000,
        "Accept no URL of a host while this many of its URLs wait.",
        least=1,
    ),
    # A host with URLs takes a kilobyte of memory. Blogs at one service have different owners.
    whole(
        "FRONTIER_DOMAIN_HOSTS",
        "hosts",
        10_000,
        "Follow links to at most this many hosts of one registered domain in a run; below shared suffixes"
        " such as `blogspot.com` each name is a domain. 0 sets no limit. Seeds do not count.",
    ),
    whole(
        "FRONTIER_RETRIES",
        "retries",
        2,
        "Retry a URL this many times after a failure that may pass (5xx, 429, no answer).",
        most=100,
    ),
    number(
        "FRONTIER_RETRY_DELAY",
        "seconds",
        30.0,
        "Wait this long before the first retry, and twice as long before each further one.",
    ),
    number(
        "FRONTIER_PATIENCE",
        "seconds",
        3600.0,
        "Stop when every remaining host is backed off for longer than this; the crawl can be resumed.",
    ),
    whole(
        "FRONTIER_PARTITIONS",
        "partitions",
        256,
        "With several workers, divide the hosts into this many partitions. Each worker gets the hosts of its"
        " own partitions where possible ([service.md](service.md#who-gets-what)).",
        least=1,
        most=16_384,
    ),
    Setting(
        "FRONTIER_PARTITIONING",
        "digest",
        "The function of the host's name that chooses its partition.",
        choices=("digest", "characters", "even", "odd"),
    ),
    Setting(
        "FRONTIER_ASSIGNMENT",
        "rendezvous",
        "How partitions are assigned to workers: `rendezvous` keeps them where they are, `phases` moves all"
        " workers on by the clock.",
        choices=("rendezvous", "phases"),
    ),
    Setting(
        "SEEDS_URL",
        "",
        "Read seeds from Redis while the crawl runs: `redis://HOST:PORT/0?key=rdfa:start_urls`, a list, a set"
        " or a sorted set, as scrapy-redis uses it ([service.md](service.md#seeds-by-redis)).",
        secret=True,
        syntax="rdfaspider.settings.syntax.seeds_url",
        given_kind="url",
    ),
    whole(
        "WORKERS",
        "processes",
        1,
        "Crawl with this many processes, which share one frontier and one store"
        " ([service.md](service.md)); 0 starts one per core.",
        most=256,
    ),
    Setting(
        "FRONTIER_WORKER",
        "",
        "The name of this worker, unique in the crawl; if empty, it is made from machine and process.",
    ),
    # Enough for the next tenths of a second.
    whole(
        "FRONTIER_READ_AHEAD",
        "URLs",
        64,
        "URLs that a worker of a shared crawl fetches in advance, at most; 0 asks for each one.",
    ),
    Setting(
        "FRONTIER_SECRET",
        "",
        "The secret that a frontier service shares with its workers, in one line. If empty, the service lets"
        " in everybody, and listens on this machine only.",
        secret=True,
        syntax="rdfaspider.settings.syntax.line",
    ),
    Setting(
        "FRONTIER_CERTIFICATE",
        "",
        "A PEM file with the certificate of the frontier service; workers and service then use TLS. Workers"
        " may name the certificate of the authority that signed it instead.",
    ),
    Setting(
        "FRONTIER_KEY", "", "A PEM file with the key of that certificate, for the service only."
    ),
    Setting(
        "FRONTIER_LOG_LEVEL",
        "WARNING",
        "The service also keeps what its workers log at this level or above, and `scrapy frontier --log`"
        " shows it; OFF keeps nothing.",
        choices=("DEBUG", "INFO", "WARNING", "ERROR", "OFF"),
    ),
    whole(
        "FRONTIER_NODES",
        "copies",
        2,
        "With `FRONTIER_URL=redis://…`, keep this many copies of the frontier, each on the disk of a"
        " worker ([service.md](service.md)); the crawl survives the loss of all but one.",
        least=1,
        most=16,
    ),
    whole(
        "FRONTIER_SHARDS",
        "shards",
        1,
        "With `FRONTIER_URL=redis://…`, divide the hosts among this many frontiers, each with its own"
        " nodes ([service.md](service.md#several-frontiers)). A crawl keeps the number it began with;"
        " workers that do not set it take it over.",
        least=1,
        most=64,
    ),
    Setting("FRONTIER_WAIT", False, "Wait for more seeds when nothing is left to crawl."),
    whole(
        "FRONTIER_MIN_FREE_MB",
        "megabytes",
        500,
        "Stop cleanly when the disk of the crawl has less space left; 0 never stops.",
    ),
)

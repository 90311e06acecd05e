"""Settings of the store and the way to it."""

from rdfaspider.settings.setting import Setting

SETTINGS = (
    Setting(
        "STORE_URL",
        "url",
        "{jobdir}/store",
        "Where the triples go ([stores.md](stores.md)): a directory, `rdf4j+http://…` (`?sail=lmdb` for"
        " an LmdbStore), `gsp+http://…`, `update+http://…` or `nquads:DIRECTORY`. `{jobdir}` stands"
        " for `JOBDIR`.",
        secret=True,
        syntax="rdfaspider.settings.syntax.store_url",
    ),
    Setting("STORE_USER", "text", "", "User name for the server of the store."),
    Setting(
        "STORE_PASSWORD",
        "text",
        "",
        "Password for it, by default from the environment variable of this name; never logged.",
        secret=True,
    ),
    Setting(
        "STORE_TOKEN",
        "text",
        "",
        "Bearer token for it, by default from the environment variable of this name; never logged.",
        secret=True,
        syntax="rdfaspider.settings.syntax.header",
    ),
    Setting(
        "STORE_HEADERS",
        "dict",
        {},
        "More headers to send to it; never logged.",
        secret=True,
        syntax="rdfaspider.settings.syntax.headers",
    ),
    Setting(
        "STORE_CERTIFICATES",
        "text",
        "",
        "A file of certificates to trust, in place of those of the system.",
        syntax="rdfaspider.settings.syntax.file",
    ),
    Setting("STORE_VERIFY", "bool", True, "Verify its certificate."),
    Setting(
        "STORE_TIMEOUT",
        "float",
        60.0,
        "Time that the server may take for a batch.",
        unit="seconds",
        above=0,
    ),
    # RDF4J spills larger batches to disk.
    Setting(
        "STORE_BATCH_QUADS",
        "int",
        5_000,
        "Send a batch when it has this many triples.",
        unit="triples",
        least=1,
    ),
    Setting(
        "STORE_BATCH_SECONDS",
        "float",
        5.0,
        "Send a batch when its first triple is this old.",
        unit="seconds",
        least=0,
    ),
    # Ten times what a rich site gives in FRONTIER_HOST_URLS pages; a hostile one gives a hundred.
    Setting(
        "STORE_HOST_QUADS",
        "int",
        10_000_000,
        "Store at most about this many triples of one host; 0 sets no limit.",
        unit="triples",
        least=0,
    ),
    Setting(
        "STORE_HOST_MB",
        "int",
        2_000,
        "Store at most about this much of one host, as N-Quads; 0 sets no limit.",
        unit="megabytes",
        least=0,
    ),
    Setting(
        "STORE_DOMAIN_QUADS",
        "int",
        40_000_000,
        "The same for all hosts of a registered domain together; below shared suffixes such as"
        " `blogspot.com` each name is a domain.",
        unit="triples",
        least=0,
    ),
    Setting(
        "STORE_DOMAIN_MB",
        "int",
        8_000,
        "The same for all hosts of a registered domain together.",
        unit="megabytes",
        least=0,
    ),
    Setting(
        "STORE_OUTBOX_MB",
        "float",
        1024.0,
        "Pause the crawl when this much, compressed, waits to be sent.",
        unit="megabytes",
        above=0,
    ),
    Setting(
        "STORE_DRAIN_SECONDS",
        "float",
        30.0,
        "At the end of a crawl, wait this long for a server that accepts nothing. What remains is sent at"
        " the next start, or by `scrapy export --send`.",
        unit="seconds",
        least=0,
    ),
    Setting(
        "STORE_REBUILD",
        "bool",
        False,
        "Delete and refill an RDF4J repository whose server died in a write. Only for a repository that"
        " this crawl alone uses: refused if another program made it, or it holds more than was sent"
        " ([stores.md](stores.md)).",
    ),
    Setting(
        "STORE_PROVENANCE",
        "bool",
        False,
        "Store facts about each fetch (PROV-O, Dublin Core) in a graph of the crawl.",
    ),
)

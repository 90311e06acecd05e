"""Settings of the store and the way to it."""

from rdfaspider.settings.setting import Setting, number, whole

SETTINGS = (
    Setting(
        "STORE_URL",
        "{jobdir}/store",
        "Where the triples go ([stores.md](stores.md)): a directory, `rdf4j+http://…` (`?sail=lmdb` for"
        " an LmdbStore), `gsp+http://…`, `update+http://…`, `nquads:DIRECTORY`, or a store of your"
        " own, `python:package.module.Name:PLACE` ([library.md](library.md#your-own-parts)). `{jobdir}`"
        " stands for `JOBDIR`.",
        secret=True,
        syntax="rdfaspider.settings.syntax.store_url",
        given_kind="url",
    ),
    Setting("STORE_USER", "", "User name for the server of the store."),
    Setting(
        "STORE_PASSWORD",
        "",
        "Password for it, by default from the environment variable of this name; never logged.",
        secret=True,
    ),
    Setting(
        "STORE_TOKEN",
        "",
        "Bearer token for it, by default from the environment variable of this name; never logged.",
        secret=True,
        syntax="rdfaspider.settings.syntax.header",
    ),
    Setting(
        "STORE_HEADERS",
        {},
        "More headers to send to it; never logged.",
        secret=True,
        syntax="rdfaspider.settings.syntax.headers",
    ),
    Setting(
        "STORE_CERTIFICATES",
        "",
        "A file of certificates to trust, in place of those of the system.",
        syntax="rdfaspider.settings.syntax.file",
    ),
    Setting("STORE_VERIFY", True, "Verify its certificate."),
    number("STORE_TIMEOUT", "seconds", 60.0, "Time that the server may take for a batch.", above=0),
    # RDF4J spills larger batches to disk.
    whole(
        "STORE_BATCH_QUADS",
        "triples",
        5_000,
        "Send a batch when it has this many triples.",
        least=1,
    ),
    number(
        "STORE_BATCH_SECONDS", "seconds", 5.0, "Send a batch when its first triple is this old."
    ),
    # Ten times what a rich site gives in FRONTIER_HOST_URLS pages; a hostile one gives a hundred.
    whole(
        "STORE_HOST_QUADS",
        "triples",
        10_000_000,
        "Store at most about this many triples of one host; 0 sets no limit.",
    ),
    whole(
        "STORE_HOST_MB",
        "megabytes",
        2_000,
        "Store at most about this much of one host, as N-Quads; 0 sets no limit.",
    ),
    whole(
        "STORE_DOMAIN_QUADS",
        "triples",
        40_000_000,
        "The same for all hosts of a registered domain together; below shared suffixes such as"
        " `blogspot.com` each name is a domain.",
    ),
    whole(
        "STORE_DOMAIN_MB",
        "megabytes",
        8_000,
        "The same for all hosts of a registered domain together.",
    ),
    number(
        "STORE_OUTBOX_MB",
        "megabytes",
        1024.0,
        "Pause the crawl when this much, compressed, waits to be sent.",
        above=0,
    ),
    number(
        "STORE_DRAIN_SECONDS",
        "seconds",
        30.0,
        "At the end of a crawl, wait this long for a server that accepts nothing. What remains is sent at"
        " the next start, or by `scrapy export --send`.",
    ),
    Setting(
        "STORE_REBUILD",
        False,
        "Delete and refill an RDF4J repository whose server died in a write. Only for a repository that"
        " this crawl alone uses: refused if another program made it, or it holds more than was sent"
        " ([stores.md](stores.md)).",
    ),
    Setting(
        "STORE_PROVENANCE",
        False,
        "Store facts about each fetch (PROV-O, Dublin Core) in a graph of the crawl.",
    ),
    Setting(
        "STORE_CHANGES",
        False,
        "Record which triples each visit of a page added and removed, as RDF Patch in the directory"
        " `changes` of the crawl ([changes.md](changes.md)); `scrapy changes` shows them.",
    ),
    number(
        "STORE_CHANGES_MB",
        "megabytes",
        1024.0,
        "Delete the oldest records of changes when they take more space than this.",
        above=0,
    ),
)

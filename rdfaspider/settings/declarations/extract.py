"""Settings of the extraction."""

import os

from rdfaspider.settings.setting import Setting, number, whole

SETTINGS = (
    Setting(
        "EXTRACT_FORMATS",
        ["rdfa", "jsonld", "microdata", "rdf"],
        "Formats to extract; `rdf` means whole documents in Turtle, RDF/XML and the like. An extractor of"
        " your own is named by its dotted path ([library.md](library.md#your-own-parts)).",
        choices=("rdfa", "jsonld", "microdata", "rdf"),
        open=True,
        syntax="rdfaspider.extract.own.check_formats",
        shown_default="`rdfa,jsonld,microdata,rdf`",
    ),
    Setting(
        "EXTRACT_REFERENCE",
        "off",
        "Read the RDFa of each page with pyRdfa3 too, and count the pages of which it has other triples"
        " ([extraction.md](extraction.md#beside-pyrdfa3)); ours are stored. It takes twenty times as long"
        " or more.",
        choices=("off", "pyrdfa3"),
        syntax="rdfaspider.extract.reference.check",
    ),
    # At least two, so that one process reads while the result of the other waits to be taken.
    whole(
        "EXTRACT_PROCESSES",
        "processes",
        max(2, (os.cpu_count() or 2) - 1),
        "Processes that parse pages, beside half as many, at least two, for large pages and those that have"
        " cost a process, which start when they are needed; 0 parses pages in the process that fetches.",
        most=1024,
        shown_default="cores - 1, at least 2",
    ),
    # The largest real pages take a tenth of a second.
    number(
        "EXTRACT_TIMEOUT", "seconds", 10.0, "Give up on a page that takes longer to parse.", above=0
    ),
    whole(
        "EXTRACT_MEMORY_MB",
        "megabytes",
        2048,
        "Memory of each of these processes; give up on a page that needs more. The crawl does not start if"
        " this is too little for any page, or more than `ulimit -v` allows.",
        least=1,
    ),
    # What the documentation of Debian's packages needs (docs/results.md); row R6 had 100.
    whole(
        "EXTRACT_MAX_LINKS",
        "links",
        2_000,
        "Follow at most this many links per page, of those that pass scope and filters; 0 follows all that"
        " extraction returns, at most 10,000."
        " `EXTRACT_MAX_LINKS=100` is what the RDFa Web Spider did.",
    ),
    whole("EXTRACT_MAX_BYTES", "bytes", 5_000_000, "Parse at most this much of a page.", least=1),
    whole("EXTRACT_MAX_QUADS", "triples", 100_000, "Keep at most this many triples per page."),
    Setting(
        "EXTRACT_REFUSE",
        [],
        "Keep no triples of pages that reserve something: `tdm-reservation`, `noai`, `noimageai`,"
        " `no-training` or `noarchive` ([pages.md](pages.md#what-pages-reserve)). What they reserve is kept"
        " as a fact in any case.",
        choices=("tdm-reservation", "noai", "noimageai", "no-training", "noarchive"),
    ),
    # Half of all RDFa on real pages, and of little use.
    Setting("EXTRACT_ROLE", False, "Extract ARIA roles as triples."),
    Setting(
        "EXTRACT_EXPAND", False, "Apply RDFa vocabulary expansion, with the bundled vocabularies."
    ),
)

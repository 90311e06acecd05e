"""docs/speed.md, written from docs/speed.json so that text and figures are of the same run."""

from __future__ import annotations

from typing import Any

from tests.benchmarks.speed.report import Row, components, table

METHOD = """# Speed

`pytest tests/benchmarks/test_speed.py -s` lets rdfaspider and others crawl the same generated web,
one after the other, in one run: pages of 5 KB with 40 links and 20 triples in RDFa. All may use the
whole machine, of two cores: the contender with its child processes, the server of the web, Redis and
RDF4J. Time counts from the opening of the spider to its end, when everything is stored. This page
is written by the run (`SPEED_PIN=1`).

* (a) Scrapy that fetches the same URLs with `CONCURRENT_ITEMS=1` and looks at nothing; (b) Scrapy
  with its LinkExtractor; (c) Scrapy with scrapy-redis and extruct; (d) Scrapy with pyRdfa3 and a
  file of triples. These four make 16 requests at a time, without pauses.
* (e) rdfaspider with its own settings, up to 256 requests at a time, embedded; (f) with its
  frontier in Redis and its triples in RDF4J. Links, RDFa, seen-test, robots.txt, politeness (with
  a delay of 0) and the durable store are on.
"""

READING = """
"As they must be": the triples are, as a set, those that the web's oracle knows; a time in UTC may
be spelt `Z` or, as rdflib does, `+00:00`. extruct leaves out the languages of texts and takes what
is shown of a time for its value. "Strangers" is what other work took of a core: where it is much,
pages/s tell of the machine, and pages a CPU second (of the main process and its children) are what to
compare. Some run several times, in turns with others: the table has the fastest run of each, and a ratio is
the median over the turns.
"""

HELD = """
## Ratios that are held

A test fails when one is below its goal or, on the machine that they were measured on, 15 % below its
value here. Those by the clock are left out while strangers take more than a tenth of the core.

| ratio | value |
|---|--:|
"""

PEERS = """
## Crawlers of other languages

`pytest tests/benchmarks/test_peers.py -s` lets small programs in Go, Rust and Java crawl the same web
beside (a) and (e), in a run of its own: `tests/benchmarks/speed/peers` has them. They follow all links
from the root page, 16 requests at a time, without pauses and under robots.txt, and each must fetch
every page. What a program takes to start does not count, as above. "CPU ms a page" is that of the
program; what Redis takes is in the last column.

* (g) colly keeps everything in memory. Links lose their fragments, since colly takes each for a page of
  its own. (h) is colly with its queue and its seen-test in Redis, through a storage that is written
  here for colly's interfaces: its own module for Redis could not be had.
* (i) spider keeps everything in memory. Where the web's server is busy most of the time, its pages/s are
  the server's.
* (j) crawler4j keeps its frontier in Berkeley DB, and Any23 reads the RDFa of each page into files of
  N-Quads. It waits some seconds at its end to be sure that it is done, which its pages/s include.
  Berkeley DB is 5.0.73 instead of 5.0.84, which Maven Central lacks, and Any23 is 2.4, because 2.7
  needs another Tika than crawler4j. Any23 gives dates the language of the page and no type.
* (k) Nutch runs on Hadoop in local mode, and keeps its database of URLs and its segments in files. It
  parses pages while it fetches them, follows links and scores pages, but extracts no triples, stores no
  page and makes no index. It works in rounds of generate, fetch and updatedb, and starts a JVM for each
  step, as its own `bin/crawl` does. All of them count, "of children". On a web of this size their starts
  are most of it: the steps of Nutch 1.22 in one JVM took about a third of the CPU. Nutch is not built
  here, because its plugins are in no registry: `NUTCH_HOME` names an installed one.
* (l) Heritrix has its own profile without pauses. It keeps its frontier in Berkeley DB and each page in a
  WARC file, and extracts no triples. Its CPU time includes the start of its JVM, "of children". Berkeley DB
  is 18.3.12 instead of 7.5.11, which Maven Central lacks. If the table has no row (l), that run was made
  without it; [results.md](results.md#tarantula-figures-7-to-9-a-crawl-over-time-beside-heritrix) has
  Heritrix beside (e) over time.

Only (e) and (j) extract triples, and only (e) puts them into a durable store. Where "strangers" differ
between two contenders, so does what a page costs them, and their ratio is rough.

"""

GROWTH = """
## Growth

`SPEED_PAGES=200000 pytest tests/benchmarks/test_growth.py -s` crawls a web of 100,000 hosts in which
nearly every link is new. Hosts come in waves, and each has a robots.txt to be asked for: pages/s show
the waves, answers/s (pages and robots.txt) the crawler. What an answer costs is told in fixed pieces of work
done at the same time, because the machine is not always equally fast.

| pages | URLs discovered | pages/s | answers/s | cost of an answer | MB |
|--:|--:|--:|--:|--:|--:|
"""


def document(data: dict[str, Any]) -> str:
    """Return the whole page for what was measured."""
    rows = [Row(**row) for row in data["rows"]]
    own = next(row.own for row in rows if row.name == "(e) rdfaspider")
    text = f"{METHOD}\n{table(rows)}\n\n![Pages a second of CPU time](speed.svg)\n{READING}"
    text += f"The web's server alone served {data['site']:,} pages/s.\n"
    if data["large"]:
        large = table(Row(**row) for row in data["large"])
        text += f"\nReal pages of 59 to 336 KB, without following links:\n\n{large}\n"
    text += "\n## Where the time of (e)'s main process goes\n\nTime in C is its caller's.\n\n"
    text += components(data["components"], own) + "\n" + HELD
    text += "".join(f"| {name} | {value} |\n" for name, value in data["ratios"].items())
    if "peers" in data:
        text += _peers(data["peers"])
    if "growth" in data:
        text += GROWTH + "".join(map(_span, data["growth"]))
        text += "\n![Growth](speed-growth.svg)\n"
    return text


def _peers(data: dict[str, Any]) -> str:
    """Return the section on crawlers of other languages."""
    text = PEERS + table(Row(**row) for row in data["rows"]) + "\n\n"
    text += "".join(f"{name} did not run: {why}.\n\n" for name, why in data["missing"].items())
    if data["nutch"]:
        text += f"Nutch is {data['nutch']}.\n\n"
    text += "| ratio | value | goal |\n|---|--:|--:|\n"
    for name, value in data["ratios"].items():
        goal = data["goals"][name]
        text += f"| {name} | {value} | {goal}{'' if value >= goal else ', not reached'} |\n"
    for name, why in data["untold"].items():
        text += f"| {name} | {why} | {data['goals'][name]} |\n"
    return text


def _span(span: dict[str, float]) -> str:
    size = f"{span['pages']:,.0f} | {span['seen']:,.0f}"
    rates = f"{span['rate']:.0f} | {span['answer_rate']:.0f}"
    return f"| {size} | {rates} | {span['cost']:.2f} | {span['memory']:.0f} |\n"

"""Crawl every page that can be reached from the seeds, with Apache Nutch in local mode.

    NUTCH_HOME=… python -m tests.benchmarks.speed.nutch DIRECTORY SEEDS

Nutch works in rounds of generate, fetch and updatedb, until generate finds nothing left to fetch.
Each step is a JVM of its own, as with Nutch's own bin/crawl. It fetches, parses and scores as it
comes, but keeps no page and makes no index. DIRECTORY gets pages.txt, the URL of each fetched page.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.sax.saxutils import escape

AT_ONCE = "16"
# What generate returns when no URL is left.
NOTHING_LEFT = 1
PROPERTIES = {
    "http.agent.name": "nutch",
    # The basic normalizer takes the fragments off: without it each fragment is a page of its own.
    "plugin.includes": (
        "protocol-http|urlfilter-regex|urlnormalizer-basic|parse-html|scoring-opic"
    ),
    "fetcher.server.delay": "0",
    "fetcher.threads.fetch": AT_ONCE,
    "fetcher.threads.per.queue": AT_ONCE,
    "fetcher.parse": "true",
    "fetcher.store.content": "false",
    "db.max.outlinks.per.page": "-1",
}
# How a dump begins what it tells of a page that was fetched.
_FETCHED = re.compile(r"^(\S+)\tVersion: .*\nStatus: .*\(db_fetched\)$", re.MULTILINE)
# As the others: nothing written but errors.
LOGGING = """<Configuration>
<Appenders><Console name="errors" target="SYSTEM_ERR"/></Appenders>
<Loggers><Root level="error"><AppenderRef ref="errors"/></Root></Loggers>
</Configuration>
"""


class Nutch:
    """An installed Nutch with a configuration and a crawl of its own in a directory."""

    def __init__(self, home: Path, directory: Path) -> None:
        self._program = home / "bin" / "nutch"
        self._database, self._segments = directory / "crawldb", directory / "segments"
        self._dump = directory / "dump"
        conf = directory / "conf"
        shutil.copytree(home / "conf", conf)
        (conf / "nutch-site.xml").write_text(
            _configuration({**PROPERTIES, "hadoop.tmp.dir": str(directory / "tmp")})
        )
        (conf / "regex-urlfilter.txt").write_text("+.\n")
        (conf / "log4j2.xml").write_text(LOGGING)
        self._environment = {
            "JAVA_HOME": _java_home(),
            **os.environ,
            "NUTCH_CONF_DIR": str(conf),
        }

    def crawl(self, seeds: Path) -> None:
        self._run("inject", self._database, seeds)
        while self._run("generate", self._database, self._segments, "-noFilter") != NOTHING_LEFT:
            # They are named by the time.
            newest = max(self._segments.iterdir())
            self._run("fetch", newest)
            self._run("updatedb", self._database, newest)

    def fetched(self) -> list[str]:
        """Return the URLs of the pages that were fetched."""
        self._run("readdb", self._database, "-dump", self._dump)
        return [
            url for part in self._dump.glob("part-*") for url in _FETCHED.findall(part.read_text())
        ]

    def _run(self, step: str, *arguments: Path | str) -> int:
        """Run a step to its end, and return 0, or NOTHING_LEFT from generate."""
        # Standard output is for the meter.
        ended = subprocess.run(
            [self._program, step, *arguments], env=self._environment, stdout=sys.stderr
        )
        if not (step == "generate" and ended.returncode == NOTHING_LEFT):
            ended.check_returncode()
        return ended.returncode


def _configuration(properties: dict[str, str]) -> str:
    lines = (
        f"<property><name>{name}</name><value>{escape(value)}</value></property>\n"
        for name, value in properties.items()
    )
    return f"<configuration>\n{''.join(lines)}</configuration>\n"


def version_of(home: Path) -> str:
    """Return the version of an installed Nutch, "" if its library does not say."""
    name = next((path.stem for path in home.glob("lib/apache-nutch-*.jar")), "")
    return name.removeprefix("apache-nutch-")


def _java_home() -> str:
    """Return the folder of the Java that is on the path, which Nutch does not look for itself."""
    java = shutil.which("java")
    return str(Path(java).resolve().parents[1]) if java else ""


def main() -> None:
    directory, seeds = map(Path, sys.argv[1:])
    nutch = Nutch(Path(os.environ["NUTCH_HOME"]), directory)
    print("begin", flush=True)
    nutch.crawl(seeds)
    print("end", flush=True)
    # What it has used is read before the dump, which no crawl needs.
    sys.stdin.read()
    (directory / "pages.txt").write_text("\n".join(nutch.fetched()))


if __name__ == "__main__":
    main()

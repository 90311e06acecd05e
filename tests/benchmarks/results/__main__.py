"""python -m tests.benchmarks.results [--long] [NAME …]: measure tables and write them down."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.benchmarks.results import crawls, others, thesis
from tests.benchmarks.results.largest import largest
from tests.benchmarks.results.page import keep
from tests.benchmarks.results.peer import figures_7_to_9
from tests.benchmarks.results.tables import Table, machine

TABLES: dict[str, Callable[[Path], Table]] = {
    "table2": thesis.table_2,
    "table2-million": partial(thesis.table_2, wanted=slice(4, 5), inputs=(thesis.even,)),
    "figures9-11": thesis.figures_9_to_11,
    "table3": thesis.table_3,
    "table4": thesis.table_4,
    "table5": thesis.table_5,
    "table6": thesis.table_6,
    "table7": thesis.table_7,
    "table7-largest": partial(thesis.table_7, sizes=(5,)),
    "table8": thesis.table_8,
    "gigabytes": thesis.gigabytes,
    "largest": largest,
    "kspider": others.kspider,
    "figure11": crawls.figure_11,
    "mining": crawls.mining,
    "figures7-9": figures_7_to_9,
    "wire": crawls.wire,
    "rates": others.rates,
}
LONG = ("table2-million", "table7-largest", "gigabytes", "figures7-9")  # these take minutes each
HOURS = ("largest",)  # measured only if named


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.results")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(TABLES)}")
    parser.add_argument("--long", action="store_true", help="also those that take minutes each")
    asked = parser.parse_args()
    if unknown := set(asked.names) - set(TABLES):
        parser.error(
            f"there is no table {', '.join(sorted(unknown))}: choose from {', '.join(TABLES)}"
        )
    failed = 0
    quick = [name for name in TABLES if name not in HOURS and (asked.long or name not in LONG)]
    for name in asked.names or quick:
        begin = time.monotonic()
        with TemporaryDirectory() as directory:
            try:
                table = TABLES[name](Path(directory))
            except (AssertionError, RuntimeError, OSError) as error:
                print(f"{name}: not measured: {error}", file=sys.stderr)
                failed = 1
                continue
        table.command = f"python -m tests.benchmarks.results {name}"
        table.date, table.machine = time.strftime("%Y-%m-%d", time.gmtime()), machine()
        keep(name, table, list(TABLES))
        print(f"{name}: {time.monotonic() - begin:.0f} s", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())

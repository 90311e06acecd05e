"""Two thousand hosts at two hundred addresses for two minutes. Run by `make bench`, or by name with -s."""

from __future__ import annotations

from pathlib import Path

from rdfaspider.site.parameters import Parameters
from tests.test_servers import crawl_servers


def test_two_minutes_of_two_thousand_hosts_at_two_hundred_addresses(tmp_path: Path) -> None:
    parameters = Parameters(hosts=2000, addresses=200, levels=2, disallowed=0.2, latency=0.05)
    print("\n" + crawl_servers(tmp_path, parameters, delay=1.0, seconds=120))

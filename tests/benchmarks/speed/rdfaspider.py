"""(e), (f) rdfaspider with its own settings: embedded, or with the Redis and the store named."""

from __future__ import annotations

import os

from scrapy.utils.project import get_project_settings

from tests.benchmarks.speed.contender import read_arguments, run


def main() -> None:
    os.environ["SCRAPY_SETTINGS_MODULE"] = "rdfaspider.settings"
    arguments = read_arguments()
    settings = get_project_settings()
    own = {
        "JOBDIR": arguments.directory,
        "POLITENESS_OFF_FOR_OWN_SERVERS": True,
        "RESOLVER_ALLOW": ["127.0.0.1"],
        "LOG_LEVEL": "ERROR",
    }
    if arguments.redis:
        own |= {"FRONTIER_URL": arguments.redis, "POLITENESS_DELAY": 0, "POLITENESS_AT_ONCE": 256}
    if arguments.store:
        own["STORE_URL"] = arguments.store
    # For trying out others: SPEED_SETTINGS="NAME=value NAME=value".
    own |= dict(pair.split("=", 1) for pair in os.environ.get("SPEED_SETTINGS", "").split())
    for name, value in own.items():
        settings.set(name, value, "cmdline")
    depth = "15" if arguments.follow else "0"
    run("rdfa", settings, arguments, seeds=arguments.seeds, depth=depth)


if __name__ == "__main__":
    main()

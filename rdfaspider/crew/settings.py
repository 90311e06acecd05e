"""The settings of a crawl with a crew, and those of its workers."""

from __future__ import annotations

import json
import os
from typing import Any

from scrapy.exceptions import UsageError
from scrapy.settings import BaseSettings

from rdfaspider.frontier import is_shared
from rdfaspider.settings.check import is_asked
from rdfaspider.settings.places import SCRAPY_REDIS, jobdir_of

# The name under which the crawl keeps the settings of its workers.
CREW = "CREW_SETTINGS"

# The crawl itself does this.
_OFF = {
    "WORKERS": 1,
    "PROGRESS_INTERVAL": 0,
    "CLOSESPIDER_PAGECOUNT": 0,
    "CLOSESPIDER_TIMEOUT": 0,
    "TELNETCONSOLE_ENABLED": False,
    "CONSOLE_PORT": None,
    "LOG_FILE": None,
    "FRONTIER_WAIT": True,
    "SEEDS_URL": "",
    **dict.fromkeys(SCRAPY_REDIS),
    "FRONTIER_LOG_LEVEL": "OFF",
}
_OFF_EXTENSIONS = (
    "rdfaspider.console.extension.ConsoleExtension",
    "rdfaspider.extensions.diskguard.DiskGuard",
    "rdfaspider.extensions.history.extension.History",
    "rdfaspider.extensions.leftout.LeftOut",
    "rdfaspider.extensions.progress.Progress",
    "rdfaspider.extensions.reach.Reach",
    "rdfaspider.extensions.summary.Summary",
)
# These count pages and errors of a single process, not of the crawl.
_NOT_FOR_CREWS = (
    "CLOSESPIDER_ITEMCOUNT",
    "CLOSESPIDER_ERRORCOUNT",
    "CLOSESPIDER_PAGECOUNT_NO_ITEM",
)


def size_of(settings: BaseSettings) -> int:
    """Return the number of workers; 1 means no crew."""
    return settings.getint("WORKERS") or len(os.sched_getaffinity(0))


def prepare(settings: BaseSettings) -> None:
    """Turn the settings into those of a crawl with a crew, and keep those of its workers in them."""
    _refuse_what_cannot_be(settings)
    size = size_of(settings)
    settings.set(CREW, _of_workers(settings, size), "cmdline")
    settings.set("SCHEDULER", "rdfaspider.crew.scheduler.CrewScheduler", "cmdline")
    settings.set("EXTRACT_PROCESSES", 0, "cmdline")
    settings.set("RENDER", "never", "cmdline")


def _refuse_what_cannot_be(settings: BaseSettings) -> None:
    if is_shared(settings["FRONTIER_URL"]):
        raise UsageError(
            "WORKERS is for a frontier in a directory. With a shared frontier (FRONTIER_URL), start one"
            " crawl for each worker."
        )
    if settings["FEEDS"]:
        raise UsageError(
            "A crawl with WORKERS writes no feeds (-o, FEEDS): scrapy export writes what it has stored."
        )
    for name in _NOT_FOR_CREWS:
        if settings.getint(name):
            raise UsageError(f"{name} is not for a crawl with WORKERS: set CLOSESPIDER_PAGECOUNT.")


def _of_workers(settings: BaseSettings, size: int) -> dict[str, Any]:
    """Return the settings that all workers share and that are not defaults."""
    shared = {
        name: plain
        for name in settings
        if settings.getpriority(name) and (plain := _plain(settings[name])) is not None
    }
    shared |= _OFF
    shared["EXTENSIONS"] = {**shared.get("EXTENSIONS", {}), **dict.fromkeys(_OFF_EXTENSIONS)}
    if not is_asked(settings, "EXTRACT_PROCESSES"):
        shared["EXTRACT_PROCESSES"] = max(1, len(os.sched_getaffinity(0)) // size)
    if not is_asked(settings, "RENDER_PROCESSES"):
        shared["RENDER_PROCESSES"] = max(1, settings.getint("RENDER_PROCESSES") // size)
    shared["FETCH_MEMORY_MB"] = max(1, settings.getint("FETCH_MEMORY_MB") // size)
    if not is_asked(settings, "LOG_LEVEL"):
        shared["LOG_LEVEL"] = "WARNING"  # leaves out the start and end of each
    shared["LOG_FORMAT"] = "%(levelname)s %(message)s"  # the log of the crawl adds the rest
    return shared


def _plain(value: object) -> Any:
    """Return a value in plain JSON types, None if that is not possible."""
    if isinstance(value, BaseSettings):
        value = value.copy_to_dict()
    try:
        text = json.dumps(value)
    except (TypeError, ValueError):
        return None
    return json.loads(text) if json.loads(text) == value else None


def settings_of(worker: str, settings: BaseSettings, address: str) -> dict[str, Any]:
    """Return the settings of one worker; frontier and store are at an address."""
    own = {
        "FRONTIER_WORKER": worker,
        "FRONTIER_URL": address,
        "STORE_URL": address,
        "JOBDIR": str(jobdir_of(settings) / "workers" / worker),
        "CREW_JOBDIR": str(jobdir_of(settings)),  # provenance names the crawl
    }
    return {**settings[CREW], **own}

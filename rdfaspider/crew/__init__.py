"""A crew: one crawl on many cores, by one command.

With WORKERS=4 the crawl that the user starts fetches nothing itself. It owns the frontier and the store,
serves both to worker processes on the same machine (frontier/service), adds up their counters, and shows and
stops everything as a crawl of one process does. So there is one progress line, one summary, one store.

scheduler.py  the scheduler of the crawl: serves the frontier, and starts the workers
processes.py  the workers as processes: their log, their end, and the restart of one that died
worker.py     what such a process runs: a crawl that uses the served frontier and store
settings.py   the settings of the crawl, and those of its workers
"""

"""The engine: the frontier of one process, in a directory, on RocksDB.

local.py      `LocalFrontier`, which is the frontier; every other frontier hands one of these out
sieve.py      looks up what was found; admission.py says what of it is within the limits
counters.py   URLs by state; terms.py how the crawl was begun, which it keeps
"""

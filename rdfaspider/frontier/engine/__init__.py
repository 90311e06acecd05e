"""The engine: the frontier of one process, in a directory, on RocksDB.

local.py      `LocalFrontier`, the frontier itself; every other frontier serves one of these
urls.py       moves URLs from state to state
sieve.py      looks up links; admission.py checks them against the limits
steering.py   has the link graph decide what comes first; ranker.py computes PageRank beside the crawl
revisits.py   kept pages: when each is visited again; repricing.py when what a visit must bring has changed
counters.py   URLs by state
terms.py      the terms on which the crawl began, which it keeps
"""

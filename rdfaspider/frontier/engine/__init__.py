"""The engine: the frontier of one process, in a directory, on RocksDB.

`LocalFrontier` is the frontier itself; every other frontier serves one of these. Its methods are in

local.py      taking URLs in, ending them, and what can be seen of it and its shard
taking.py     handing URLs out, taking them back when a lease expires, politeness
parts.py      how its parts are made, restored, written and closed

The parts that only the engine has:

urls.py       moves URLs from state to state
sieve.py      looks up links; admission.py checks them against the limits, discoveries.py knows whose they are
revisits/     keeps pages, and recalls them when their next visits are due
steering.py   has the link graph decide what comes first; ranker.py computes PageRank beside the crawl
counters.py   URLs by state
terms.py      the terms on which the crawl began, which it keeps
"""

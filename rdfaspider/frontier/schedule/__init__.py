"""Whose turn it is: which hosts may be fetched from now, and which comes next.

hosts.py      what is known of each host, in memory while it has work
schedule.py   the heap of servers, the hosts of each, and the hosts that are ready; servers.py what these are
queue.py      pages of URLs at hand, spread so that hosts are far apart
leases.py     who holds which URL, and until when
borrowing.py  turns of hosts for something other than their own URLs: a robots.txt that moved there
lending.py    turns of servers for pages of other shards; clocks.py times by name, in bounded memory
"""

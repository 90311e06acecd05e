"""Which hosts may be fetched from now, and which comes next.

hosts.py      what is known of each host, in memory while it has work
schedule.py   the heap of servers, the hosts of each, and the ready hosts
servers.py    servers, and hosts without an address
queue.py      pages of URLs at hand, spread so that hosts are far apart
leases.py     URLs in flight, and when their leases expire
borrowing.py  turns of hosts for fetches other than their own URLs, such as a robots.txt that moved there
lending.py    turns of servers for pages of other shards
"""

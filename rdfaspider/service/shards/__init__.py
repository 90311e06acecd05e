"""One crawl over several frontiers: each has the hosts of its shard, and a service of its own.

frontier.py     `ShardedFrontier`, the frontier that a worker sees: it talks to the services of all shards
forwarding.py   sends the links of a page to the shards of their hosts before the page ends at its own
serverturns.py  turns of servers with hosts in several shards; one shard, the keeper, has their clock
hostturns.py    turns of other hosts, and of their servers
floors.py       how far all shards are, so that each knows which links it may drop
opening.py      opens the shards of a crawl as one frontier

frontier/sharding.py decides which shard has what. Every shard has the instructions to all workers, and the
notes that they watch. A shard that is away stops its own hosts, and those whose servers it keeps.
"""

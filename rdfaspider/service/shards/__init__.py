"""One crawl over several frontiers: each has the hosts of its shard, and a service of its own.

frontier.py    `ShardedFrontier`, which a worker sees: it talks with the services of all shards
forwarding.py  the links of a page go to the shards of their hosts before the page is ended at its own
keepers.py     a server with hosts of several shards has its clock with one of them, its keeper
borrowed.py    turns of other hosts, and of their servers
floors.py      how far all shards are, so that each knows which links it may forget
opening.py     opens the shards of a crawl as one frontier

Which shard has what is said in frontier/sharding.py. What all workers are told, and the notes that they
watch, are with every shard. A shard that is away stops its own hosts, and those whose servers it keeps.
"""

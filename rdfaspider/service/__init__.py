"""The service: one frontier in a process of its own, handed out to any number of workers.

A worker and the service talk in frames (wire.py) over a unix socket or TCP, one question after the other. The
worker says first who it is and what it holds. Then each message has what the worker did, in order, and how
many URLs it wants; the reply has the URLs. Whatever is in a message was done when the reply comes.

handler.py       what the service does for its workers, without any network
allocator.py  which of them gets which URL
notes.py    what all of them are told, and note for each other; log.py what they have logged
server.py     the network before it; serving.py a service as a process
client.py     `ServedFrontier`, the frontier that a worker sees; report.py as people see it
session.py       what a worker tells and hears, over line.py, its connection, kept by a thread of its own
shards.py     `ShardedFrontier`, one of several services that share a crawl by host; it names its parts

Times. A host rests from the moment at which the service reads that a fetch has ended until it writes that
the next may begin, by its own clock, so no two clocks are compared.

What survives. When a connection breaks, a message is sent again under its number; the service that has done
it already sends the same reply. When the service is killed, its frontier is what was written last, and the
workers name what they hold, which is then in flight again (LocalFrontier.adopt). Until all of those have come
back who were there, or are taken for dead, nothing is handed out. When a worker is killed, what it held is
handed out again as soon as it is taken for dead. So G1 to G3 hold through a kill of either.
"""

# A worker is heard of so often, and is taken for dead when it was not for so long (row R13: 10 and 20).
BEAT = 1.0
DEAD_AFTER = 20.0
# A worker that has not heard of the service for so long begins nothing: it may be taken for dead soon.
SILENT_AFTER = 10.0
# A shard that has not answered for so long is not waited for by those who have something for it.
AWAY_AFTER = 2.0

"""The service: one frontier in a process of its own, served to any number of workers.

A worker and the service exchange frames (wire.py) over a unix socket or TCP, one request after the other.
The worker first sends who it is and what it holds. Then each message has what the worker did, in order, and
how many URLs it wants; the reply has the URLs. Everything in a message is done when the reply arrives.

messages.py    the messages, one class each; a new one joins a union there, VERSION rises, worker/client.py
               sends it, and server/handler.py does it
address.py     where a service is, and whom it trusts
server/        the side that has the frontier
worker/        `ServedFrontier`, the frontier that a worker sees, and its connection
notes.py       instructions to all workers, and notes that they share
shards/        `ShardedFrontier`: several services that share a crawl by host
replica/       copies of the frontier on other machines

Times. A host rests from the moment at which the service reads that a fetch has ended until it writes that
the next may begin, by its own clock, so no two clocks are compared.

What survives. When a connection breaks, the message is sent again under its number; if the service has done
it already, it sends the same reply. When the service is killed, its frontier is what was written last, and
the workers name what they hold, which is then in flight again (LocalFrontier.adopt). Nothing is handed out
until all workers that were there have come back or count as dead. When a worker is killed, what it held is
handed out again as soon as it counts as dead. So G1 to G3 hold through a kill of either.
"""

# Seconds between messages of a worker, and of silence after which it counts as dead (row R13: 10 and 20).
BEAT = 1.0
DEAD_AFTER = 20.0
# A worker that has not heard from the service for this long begins nothing: it may soon count as dead.
SILENT_AFTER = 10.0
# Others do not wait for a shard that has not answered for this long.
AWAY_AFTER = 2.0

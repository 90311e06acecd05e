"""One frontier that survives the loss of its machine: a leader, standbys, and a log in Redis between them.

A *node* is a process with a copy of the frontier in a directory. One of them leads: it hands the frontier
out to the workers as any service does. The others stand by: each has fetched a copy from the leader, and does
what the log says was done since. Redis has four things: the lease, which one node holds at a time; the
register of nodes, where workers look up who leads; a secret, so that only who reaches Redis may join; and the
log.

registry.py   what is in Redis; scripts.py what it does there at once
journal.py    the log as the leader writes it: a reply leaves when what it says is in the log
logged.py     the frontier of a node: as leader it records what is done, as standby it does what was recorded
copying.py    a copy of the frontier, from the leader to a standby
node.py       the life of a node: stand by, take the lease, lead
leading.py    a node as long as it leads
process.py    a node as a process
shardcount.py how many shards the crawl has, if it has several
client.py     `ReplicatedFrontier`, the frontier that a worker sees, and the nodes that workers start
sharded.py    several of them that share a crawl by host; shardcount.py how many, as nodes know it

What is written down. The log is of operations, not of bytes: ends with their links, retries, seeds, notes,
and what slows hosts down. URLs and hosts are named by themselves, because each copy has numbers of its own.
To do an operation twice does no harm, so a copy need not know to the last one which it has done. What is in
flight is not in the log: workers name what they hold when they come back.

What is guaranteed. Whoever leads has a number, higher than any before, and an entry is added only under the
last number: a leader that was replaced and does not know it acknowledges nothing. A node takes the lease only
when it has done all that the log says. So what was acknowledged survives the leader and its disk.
"""

from __future__ import annotations

import asyncio
from typing import Any

# Seconds for which a lease is good, and after which it is renewed.
LEASE = 6.0
RENEWED = 1.0
# A node that was not heard of for so long is not counted.
AWAY_AFTER = 10.0


class Gone(Exception):
    """Another node leads now."""


async def end(*tasks: asyncio.Task[Any]) -> None:
    """Cancel tasks until they are done: a call of Redis that fails just then may swallow it once."""
    while pending := [task for task in tasks if not task.done()]:
        for task in pending:
            task.cancel()
        await asyncio.wait(pending, timeout=0.1)

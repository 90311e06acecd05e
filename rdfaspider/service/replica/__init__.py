"""One frontier that survives the loss of its machine: a leader, standbys, and a log in Redis between them.

A *node* is a process with a copy of the frontier in a directory. One of them leads: it serves the frontier
to the workers as any service does. The others stand by: each has fetched a copy from the leader, and
repeats what the log says was done since. Redis has four things: the lease, which one node holds at a time;
the register of nodes, where workers look up the leader; a secret, so that only those who reach Redis may
join; and the log.

registry.py   what is in Redis; scripts.py its atomic scripts
journal.py    the log as the leader writes it: a reply leaves when its changes are in the log
logged.py     the frontier of a node: a leader records what is done, a standby repeats it
copying.py    copies the frontier from the leader to a standby
node.py       the life of a node: stand by, take the lease (LEASE, below), lead
leading.py    a node while it leads
process.py    runs a node
client.py     `ReplicatedFrontier`, the frontier that a worker sees, and the nodes that workers start
shards.py     how many shards a crawl has

What is written. The log has operations, not bytes: ends with their links, retries, seeds, notes, and what
slows hosts down. URLs and hosts are named in full, because each copy has numbers of its own. Doing an
operation twice does no harm, so a copy need not know exactly which was its last. What is in flight is not
in the log: workers name what they hold when they come back.

What is guaranteed. Each leader has a number, higher than any before, and an entry is added only under the
last number: a leader that was replaced without knowing it acknowledges nothing. A node takes the lease only
when it has done all that the log says. So what was acknowledged survives the leader and its disk.
"""

from __future__ import annotations

import asyncio
from typing import Any

# Seconds for which a lease is valid, and after which it is renewed.
LEASE = 6.0
RENEWED = 1.0
# A node that was silent for this long does not count.
AWAY_AFTER = 10.0


class Gone(Exception):
    """Another node leads now."""


async def end(*tasks: asyncio.Task[Any]) -> None:
    """Cancel tasks until they are done: a Redis call that fails at that moment may swallow the first
    cancellation."""
    while pending := [task for task in tasks if not task.done()]:
        for task in pending:
            task.cancel()
        await asyncio.wait(pending, timeout=0.1)

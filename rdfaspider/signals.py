"""How plugs talk without knowing each other."""

from __future__ import annotations

from typing import Any

from pydispatch.dispatcher import Any as Anybody  # type: ignore[import-untyped]
from pydispatch.dispatcher import connections

# Sent by the scheduler when the addresses of hosts are needed, with `hosts`, pairs of an id and a name, and
# `place`, which must be called for each with the id and the address ("" if there is none), now or later.
hosts_unplaced = object()

# Sent by the scheduler when a seed has moved and the scope has grown by its new page, with the `url`.
scope_grown = object()

# Sent when the store is open, with its `pipeline`, and before it closes; it accepts pages until all receivers
# of the latter have returned.
store_opened = object()
store_closing = object()

# Sent some seconds after a crawl is told to stop; what is not done then waits for the next run.
time_is_over = object()

# Sent when pages are going to be rendered; who fetches for their scripts hands to `give` what opens that for
# a page, as a context.
subresources_wanted = object()

# Sent when something that is no page was fetched while the crawl keeps an archive, with its `exchange`; who
# keeps it answers when it is safe.
exchanged = object()

# Sent when a seed could not be fetched, with its `url` and the `problem` in words.
seed_failed = object()


def is_heard(sender: Any, signal: Any) -> bool:
    """Tell whether anybody may hear a signal; mostly nobody does, and finding that out by sending it takes
    longer."""
    for who in (sender, Anybody):
        heard = connections.get(id(who))
        if heard and (heard.get(signal) or heard.get(Anybody)):
            return True
    return False

"""How plugs talk without knowing each other."""

from __future__ import annotations

# Sent by the scheduler when hosts wait to be placed at their servers, with `hosts`, pairs of an id and a
# name, and `place`, which is to be called for each with the id and the address, an empty one if there is
# none. It may be called at once or later, and must be called in the end.
hosts_unplaced = object()

# Sent by the scheduler when the scope has grown by a page to which a seed has moved, with its `url`.
scope_grown = object()

# Sent when the store is open, with its `pipeline`, and before it is closed: until all have answered that, it
# takes pages.
store_opened = object()
store_closing = object()

# Sent when the time of a crawl is over, and what is not done yet has to wait for the next run.
time_is_over = object()

# Sent when something that is no page was fetched while the crawl keeps an archive, with its `exchange`; who
# keeps it answers when it is safe.
exchanged = object()

# Sent when a seed could not be fetched, with its `url` and the `problem` in words.
seed_failed = object()

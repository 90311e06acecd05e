"""What the frontier stores on disk: a module for each kind of record, which alone knows its bytes.

database.py   the RocksDB database and its column families; tuning.py its options
trie.py       every known URL, its state and its number
waiting.py    URLs to fetch, by host and rank
postponed.py  URLs to retry at a time of their own
visits.py     kept pages, and when their next visits are due
links/        inbox, outbox: links not yet looked up or forwarded; outlinks, edges, referrers: those of pages
failures.py   why URLs failed
ranks.py      the PageRank of URLs, as it was last computed
pages.py      what is known of the pages of ended URLs
copies.py     pages whose body another page had before

The record of a host is packed by schedule/hosts.py, its part for politeness by politeness.py. If the bytes of
a record change, VERSION in database.py must rise, or older crawls are misread.
"""

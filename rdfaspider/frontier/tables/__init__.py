"""What the frontier stores on disk: a module for each kind of record, which alone knows its bytes.

database.py   the RocksDB database and its column families; tuning.py its options
trie.py       every known URL, its state and its number
inbox.py      links found and not yet looked up
waiting.py    URLs to fetch, by host and rank
postponed.py  URLs to retry at a time of their own
outlinks.py   links of finished pages, while a shorter way to the page may be found
outbox.py     links not yet forwarded to other shards
failures.py   why URLs failed
referrers.py  the pages on which URLs were found
edges.py      the links of done pages: the link graph while it grows
ranks.py      the PageRank of URLs, as it was last computed
pages.py      what is known of the pages of ended URLs
copies.py     pages whose body another page had before

The record of a host is packed by schedule/hosts.py, its part for politeness by politeness.py.
"""

"""What the frontier has on disk: a module for each kind of record, which alone knows its bytes.

database.py   the RocksDB database, with the list of its column families; tuning.py its settings
trie.py       every known URL, its state and its number
inbox.py      links that were found and not yet looked up
waiting.py    URLs to be fetched, by host and rank
postponed.py  URLs to be tried again at a time of their own
outlinks.py   links of finished pages, while a shorter way to the page may be found
outbox.py     links that other shards have yet to be told of
failures.py   why URLs failed; referrers.py on which pages they were found
"""

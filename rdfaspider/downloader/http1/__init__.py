"""Our own client of HTTP/1.0 and 1.1; a page takes less CPU than over aiohttp (benchmarks/test_handlers.py).

answer       reads one answer from its bytes; knows nothing of sockets
request      writes one request
connection   sends a request over a connection, and waits for its answer
pool         connects to addresses that the guard admits, also through proxies, and keeps idle connections for
             a while
reception    an answer whose head is there, and the way to its body
handler      the download handler of Scrapy: targets are checked, sizes and memory limited

It does not speak HTTP/2: that serves many requests at once over one connection, and a polite crawler asks a
host for one page at a time.
"""

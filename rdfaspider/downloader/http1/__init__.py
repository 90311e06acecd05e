"""Our own client of HTTP/1.0 and 1.1, with which a download costs about half the CPU.

answer       reads one answer from its bytes; knows nothing of sockets
request      writes one request
connection   sends a request over a connection, and waits for its answer
pool         connects to addresses that the guard admits, and keeps idle connections for a while
handler      the download handler of Scrapy

What it does not speak is left to aiohttp: proxies.
"""

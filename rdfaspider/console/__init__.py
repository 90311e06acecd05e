"""The console: a crawl in a browser, served by the crawl itself.

A small web server (aiohttp) listens on the loopback interface, inside the process of the crawl. The pages are
files without a build step; they ask for JSON once a second, and draw it. Every answer is made from what the
crawl has anyway: its counters, its frontier, its history, its log. Nothing of it is on the path of a page,
and no answer holds up the event loop: what needs a scan of the frontier is cut into slices (hosts/scans.py).

guards.py      who may talk to it: loopback names, a token, requests of its own pages
server.py      the server: limits, files, errors as sentences
routes.py      the addresses, and what each answers
extension.py   starts it in a crawl
crawls/        what is shown of a crawl, here or in another process, and what can be done to it
hosts/         the table of hosts, one of them, and how a frontier is asked in slices
query/         SPARQL, over copies of the store, each query in a process
search/        search by words and type, one thing, an archived answer
static/        pages, scripts, styles; vendor/ has those of others, with their licences
"""

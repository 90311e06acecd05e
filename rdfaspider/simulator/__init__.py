"""The simulator: crawls of webs that do not exist, in virtual time, to compare orders.

    web = GeneratedWeb(Shape("sections"), seed=1)
    with simulated("harvest") as frontier:
        run = crawl(frontier, web, fetches=20_000)
    run.harvest                         gain of a fetch
    plot({"harvest": run}).encode()     curves as SVG

drive.py  crawls a web by any frontier; `simulated` opens one on disk, which is gone afterwards
web.py    generated and recorded webs; plot.py  curves
inmemory.py  baselines: bandit.py Anthelion's way, and scored.py the best score first
pagerank.py  how early a crawl finds the pages of high PageRank
"""

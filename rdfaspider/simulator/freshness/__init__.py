"""How fresh a store stays: policies of revisits in virtual time, on a population of pages that change.

    pages = generate(hosts=600, seed=1)
    best = optimum(pages, mean=10 * DAY)
    run = planned(pages, mean=10 * DAY, days=200)
    run.freshness / best.freshness

pages.py     a population of pages, and the best that can be had with known rates
policies.py  what others do: uniform, proportional, WIRE, Nutch, StormCrawler; and greedy by value
planned.py   the frontier's own planner, prices and due times
table.py     all of them, as a table and as curves
"""

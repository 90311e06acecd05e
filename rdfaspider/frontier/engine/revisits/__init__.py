"""Kept pages: when they are handed out again, and what becomes of them then.

revisits.py   keeps pages, hands out those that are due, and plans the next visit of each
waking.py     wakes hosts when pages of theirs are due, and lets them sleep
athand.py     reads pages that are due, and knows their past until their visit ends
share.py      counts how many revisits may be made while new pages wait
budget.py     counts visits, so that they are within the budget before prices are right
signals.py    makes pages due that sitemaps and feeds say have changed
walk.py       goes through all URLs, a few at each take
repricing.py  a walk that has prices follow the load: the default policy
manager.py    a walk that chooses the URLs of a cycle by profit, as WIRE does
"""

"""When known pages are worth another visit.

value.py    what a visit brings, and after which time it is worth a price
rates.py    how fast pages change, by section, host and crawl
scale.py    numbers in a byte, as they are stored with each page
planner.py  the past of a page, and when its next visit is due
prices.py   the prices that keep visits within what can be fetched
"""

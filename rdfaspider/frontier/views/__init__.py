"""The frontier as people see it.

reader.py  a look into the frontier of a crawl, running or not, without touching it
urls.py    one URL, or all that ended in a state; hubs.py the pages with the most links to new URLs
text.py    all of this in words
"""

"""The frontier as people see it.

reader.py  reads the frontier of a crawl, running or not, without changing it
urls.py    one URL, or all that ended in a state
pages.py   all ended URLs with the rows of their pages
text.py    all of this as text
links.py   the links of pages; graph.py the graph of them, graphtext.py that as text
"""

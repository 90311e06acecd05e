"""The history of a crawl: how far it was when, kept in its directory, and what can be made of it.

extension.py   looks at the counters every few seconds
samples.py     the file of what it saw
report.py      tables and pictures of one such file, or of several
"""

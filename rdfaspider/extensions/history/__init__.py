"""The history of a crawl: its counters over time, kept in its directory, and reports of them.

extension.py   samples the counters every few seconds
samples.py     the file of samples
forecast.py    when the crawl will end
report.py      tables and pictures of one such file, or of several
"""

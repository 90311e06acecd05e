"""Parts of this project for spiders of any other: their pages, items and callbacks stay as they are.

`rdfaspider.Addon` wires them together; each also works alone, by the settings of Scrapy.

triples    stores the triples of every page that a spider gets, before its callback sees the page
robots     reads robots.txt as RFC 9309 asks, for Scrapy's own middleware
rights     what services reserve, by robots.txt and tdmrep.json, kept with the triples
frontier   takes the requests of a spider from the frontier, by way of the table in requests.py
manners    keeps Crawl-delay and answers of servers that have too much to do, by Scrapy's delays
"""

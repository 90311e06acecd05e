"""Downloader middlewares: what may be fetched, and when to stop fetching.

sitemaps        reads the sitemaps that robots.txt names
robots          obeys robots.txt; its records are kept by `robotsrecords`
compression     unpacks bodies
politeness      tells the frontier how a host answers; frontier/politeness.py decides what that costs
contenttype     stops a download that is not a page at its headers
validators      what headers say for the next visit
problems        why a download failed, in words
turns           the frontier of the crawl, and a page that waits for another turn of its host
"""

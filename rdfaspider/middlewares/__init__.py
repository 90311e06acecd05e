"""Downloader middlewares: what may be fetched, and when to stop fetching.

sitemaps        reads the sitemaps that robots.txt names
robots          obeys robots.txt; its records are kept by `robotsrecords`
reservations    asks services for their tdmrep.json
servicefiles    downloads such files in turn, also where they have moved to
compression     unpacks bodies
politeness      tells the frontier how a host answers (429, 503, Retry-After); what that costs
                is decided by frontier/politeness.py
contenttype     stops a download that is not a page at its headers
cacheheaders    ETag, Last-Modified and Cache-Control: what headers say for the next visit
archive         hands robots.txt and whatever else is fetched besides pages to the archive
problems        why a download failed, in words
turns           the frontier of the crawl, and a page that waits for another turn of its host
"""

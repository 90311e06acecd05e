"""The spiders that `scrapy crawl` knows.

rdfa        the spider: seeds in, one Page out for each URL
arguments   its arguments, `-a NAME=VALUE`
seeds       where it starts: URLs, files, or an earlier crawl (`earlier`)
scope       which links it follows
domains     how many hosts of one domain it goes to
"""

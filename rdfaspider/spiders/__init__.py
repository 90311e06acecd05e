"""The spiders that `scrapy crawl` knows. Extend `RdfaSpider` for your own.

rdfa        the spider: seeds in, one Page out for each URL
arguments   its arguments, `-a NAME=VALUE`
seeds       where it starts: URLs, files, or an earlier crawl
scope       which links it follows
"""


def __getattr__(name: str) -> object:
    """Import the spider when it is asked for: commands need its other modules alone."""
    if name == "RdfaSpider":
        from importlib import import_module

        return import_module("rdfaspider.spiders.rdfa").RdfaSpider
    raise AttributeError(name)

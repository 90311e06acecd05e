"""rdfaspider crawls the web politely and turns its RDFa into triples you can query.

From the top down; each imports only what stands below it (docs/architecture.md draws the layers):

addon, wiring, crew          the wiring of a spider, here and in other projects; one crawl by many processes
parts                        triples, robots and politeness for spiders of other projects
commands, spiders            what people start
report                       what a crawl found, as figures and tables
scheduler, downloader, middlewares, pipelines, extensions, feeds     thin plugs into Scrapy
resolver, settings           names to addresses; every setting with its type and range
service, simulator           a frontier for many workers; orders compared in virtual time
frontier                     which URLs are known and which comes next
site                         the generated web that tests and the demo crawl
focus                        what is learnt about the worth of URLs
extract, stores, archive, linkgraph, robots, seedlist                what a page says, and where it is kept
pages                        what is kept of pages: metadata, copies, languages
urls, items, fetchmeta, signals, …                                   shared by all
"""

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """Return the add-on for other Scrapy projects; everything else is imported from its module."""
    if name == "Addon":
        from importlib import import_module

        try:
            return import_module("rdfaspider.addon").Addon
        except ModuleNotFoundError as missing:
            raise ImportError(
                f"rdfaspider.Addon needs {missing.name}, which is not installed: pip install"
                " 'rdfaspider[crawl]'."
            ) from missing
    raise AttributeError(name)

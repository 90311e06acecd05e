"""The life of a page: the item pipelines, in the order in which a page passes them.

The spider makes one `Page` (`rdfaspider/items.py`) of every URL that was taken from the frontier, whatever
became of it: a page, a redirect, something that is not a page, a failure, a refusal by robots.txt. Only pages
that were read (`is_read`) are changed on the way; all others, and items of the user's, pass through.

    100  ExtractPipeline   parses the body once, in a process of the pool, and gives the page its links and
         extract.py        its statements as N-Quads (`page.nquads`); obeys noindex and nofollow. With RENDER,
         rendering.py      a browser runs the scripts of the page first
    200  TopicsPipeline    gives the page its topics, if there is a topics file
         topics.py
    500  FilterPipeline    drops statements that match a rule of FILTER_DROP, have invalid IRIs, or are too
         filter.py         long; a page whose predicates no rule names is not even parsed
    800  QuotaPipeline     drops all statements of a host or domain that has used up its share of the store
         quota.py
    850  ArchivePipeline   keeps the answer as it came, with ARCHIVE, and gives the page the place of its
         archive.py        record (`page.source`), which its provenance names
    880  EndsPipeline      says of a page that was visited before whether its graph is cleared: it is gone, or
         ends.py           has moved; only with FRONTIER_REVISIT
    900  StorePipeline     replaces the page's graph: checks statements that a pipeline of the user's has set
         store.py          since, waits while the sink is full, and returns when the page is durable

`writer.py` is the thread in which the store pipeline writes: it makes all pages that came meanwhile durable
together. The sink is the journal of the embedded store or the outbox of any other (`rdfaspider/stores/`); in
a crawl of many processes it is the sink of the crawl itself, reached through `ServedSink`
(`served.py`).

`rights.py` tells what a page and its server reserve, by the facts of the page and the headers of its answer.

`replay.py` reads pages of archives again by the same pipelines (`reading.py`), and `analysis.py` finds
languages and near copies among them.

Then, and only then, the scheduler ends the URL in the frontier together with the page's links. So a URL is
done when its triples are safe. If the sink cannot be written (an OSError), the crawl stops and the page
stays in flight: the next run fetches it again. If a pipeline raises anything else, the URL has failed.
"""

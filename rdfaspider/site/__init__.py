"""The generated web: every page is a pure function of a seed, its URL and the time.

Nothing is remembered per page, so that a web of millions of hosts costs no memory and any two
processes with the same parameters see the same web. Read the modules in this order:

    parameters  every knob of a web, with its default and its reason
    draws       numbers that follow from a key
    tree        the pages of one host: number <-> path
    words       names, titles and sentences in six languages
    facts       what a page says, as facts that become triples
    pages       what a URL points to, and what a page shows
    traps       places without an end
    web         URL -> page: links, facts and lasting faults
    markup      page -> HTML with RDFa, JSON-LD or Microdata
    robots      robots.txt, as text and as answers
    sitemaps    sitemap.xml, its index and its compressed parts
    answers     URL -> HTTP answer, with the faults of a real server
    oracle      what exists, what a crawl reaches, and the exact triples
    server      answers over sockets, as an origin and as an HTTP proxy
    options     parameters <-> command line
    process     a server of its own in a `with` block
"""

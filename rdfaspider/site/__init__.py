"""The generated web: every page is a pure function of a seed, its URL and the time.

Nothing is remembered per page, so that a web of millions of hosts costs no memory and any two
processes with the same parameters see the same web. Read the modules in this order:

    parameters  every knob of a web, with its default, its reason and its option
    draws       numbers that follow from a key
    tree        the pages of one host: number <-> path
    history     when pages change, vanish, move and come back, and what hosts say of it
    pages/      what a page shows: words, facts that become triples, markup
    traps       places without an end
    web         URL -> page: links, facts and lasting faults
    robots      robots.txt, as text and as answers
    sitemaps    sitemap.xml, its index and its compressed parts; the feed
    answers     URL -> HTTP answer, with the faults of a real server
    oracle      what exists, what a crawl reaches, and the exact triples
    server      answers over sockets, as an origin and as an HTTP proxy
    process     a server in another process, in a `with` block
"""

"""The full report on a crawl: what it tells about the web it has seen (docs/report.md).

    gather      everything that is known of a crawl, as plain numbers
    pages       what the table of pages says: one pass over it
    triples     what the store says: one pass over it
    links       what the link graph says
    sections    the numbers of one or more crawls as sections with figures and tables
    model       sections, figures, tables
    charts      figures as SVG
    rdf         the numbers as RDF, for the store
    html        the report as one page that needs nothing else
    files       the numbers as JSON, CSV and N-Quads, the whole in a directory

The numbers are gathered first and drawn afterwards: `gather` returns what the JSON file has, and everything
in the report is made from that.
"""

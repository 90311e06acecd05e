"""The triples of a page as its readers write them, in the form of N-Quads.

graph        the triples of one page, its blank nodes, and what it may bring out at most
iris         references to IRIs: resolved, checked, written
literals     literals: escaped, with a language or a datatype
statements   what pyoxigraph has parsed, as triples of the page
"""

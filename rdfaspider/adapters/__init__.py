"""The extraction behind the interfaces of other libraries, for those who already use them.

rdflib.py   parsers for rdflib: `Graph().parse(page, format="rdfa")`
extruct.py  a function in the shape of extruct's
"""

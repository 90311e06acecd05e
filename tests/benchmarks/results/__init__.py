"""The tables of the papers, measured here: `make results` those that are quick, `make bench` all.

tables.py    a table, and the machine it was measured on
thesis.py    Tables 2 to 8 and Figures 9 to 11 of the RDFa Web Spider
others.py    KSpider's times and sizes, WIRE's pages a day
peer.py      Tarantula's Figures 7 to 9, beside Heritrix
crawls.py    KSpider's Figure 11, WIRE's sites at once, Tarantula's mining
webs.py      small webs that count what they are asked
page.py      docs/results.json as a section of docs/results.md

A table that was measured replaces the one before; the others stay, each with its own date and machine.
"""

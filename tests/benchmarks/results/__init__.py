"""The tables of the papers, measured here: `make results` those that are quick, `make bench` all.

tables.py    a table, and the machine it was measured on
thesis.py    Tables 2 to 8 of the RDFa Web Spider
others.py    KSpider's times and sizes, WIRE's pages a day
page.py      docs/results.json as a section of docs/results.md

A table that was measured replaces the one before; the others stay, each with its own date and machine.
"""

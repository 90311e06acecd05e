"""What is kept of pages (docs/pages.md): a row of metadata each, copies of each other, languages.

row.py        the row of a page, as it travels with the end of its URL and is stored by the frontier
sketch.py     a sketch of a text, by which near copies are found
language.py   the language of a text
analysis.py   sketches and languages by the digest of a body, in a database beside the frontier
clusters.py   near copies among millions of sketches; nearcopies.py finds those of an analysis
table.py      all of this joined: one record a page; counts.py sums it up, sites.py by host
own.py        columns of the user's own in this table
files.py      these tables as Parquet, CSV or JSON lines

One more column: a field of `Page` (items.py) if it comes from the answer, of `Row` and `row_of` (row.py), of
`PageRecord` and `_record` (table.py), and docs/pages.md.

Nothing here needs more than the crawler does, except where it says so: numpy, pyarrow and a detector of
languages are the extra `analysis`, and imported when they are used.
"""

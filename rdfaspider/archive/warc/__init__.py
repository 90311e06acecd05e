"""WARC files.

records.py   records as bytes, before they are packed
members.py   each record as a member of a gzip file, so that it can be read alone
file.py      a file that is being written, and the mending of one whose writer died
reader.py    our own records, one by its place or all of a file
stream.py    the records of any WARC file, however it is packed
"""

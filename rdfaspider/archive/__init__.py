"""Pages as they came, in WARC files with an index, without Scrapy (docs/archive.md).

    rdfaspider-20261116003000-00000-1a2b3c4d.warc.gz          whole: nothing is added to it any more
    rdfaspider-20261116011500-00001-5e6f7a8b.warc.gz.open     somebody writes to it, or was killed
    index/0-….cdxj                                            captures by their keys, merged when many
    index/….open                                              those that came last, in order of arrival

A file is written by one process, which holds its lock. So any number of workers can share a directory, and
what is `.open` and not locked was left by one that died: whoever starts next mends it.

archive.py   keeps exchanges (exchange.py) as records, and begins another file when one is full;
             doubt.py what a killed writer may have left
warc/        the files: records, how they are packed, written and read
index/       where the captures of a URL are
content.py   the answer of a capture; answers.py all pages of files, ours or anybody's; har.py those of HAR
check.py     verifies an archive; wacz.py packs it
locks.py     files that one process writes and names when they are whole
"""

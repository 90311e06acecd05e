"""Extensions: they watch the crawl and take no part in it.

closespider   Scrapy's limits, counted in pages
corestats     Scrapy's counters of responses and items, in plain numbers
diskguard     stops the crawl before the disk is full
garbage       tunes Python's garbage collector
history/      how far the crawl was when, and reports of it
leftout       what the whole crawl has left out, in a file
progress      the progress line
pushedseeds   seeds that are pushed to Redis while the crawl runs
quiet         a log without a line for each page
reach         warns of seeds that do not answer
redaction     keeps secrets out of the log
stopping      ends a crawl within seconds, and says what it waits for
summary/      the summary at the end
watchdog      notices when the event loop stands still
"""

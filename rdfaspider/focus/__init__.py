"""What a crawl learns about URLs before it fetches them: which are likely to have what is sought.

objectives.py  what a page is worth
contexts.py    what the page and the words of a link say of where it leads
harvest.py     what was worth how much, by host, section and context, and so what to expect
topics/        topics of pages and links: the file, a classifier, how relevant a link is
guesses.py     URLs that nobody has linked, and whether such guesses have been right

Nothing here knows the frontier: its orders ask, and the scheduler tells (scheduler/advice.py).
"""

"""What a crawl learns about URLs before it fetches them: which are likely to have what it looks for.

objectives.py  what a page is worth
contexts.py    what the page and the words of a link say about its target
harvest.py     what was worth how much, by host, section and context, and so what to expect
topics/        topics of pages and links: the file, a classifier, the relevance of a link
visits/        how often pages change, and what another visit is worth
guesses.py     URLs without a link to them, and whether such guesses were right
parameters.py  parameters of queries that choose no page

Nothing here knows the frontier: its orders ask, and the scheduler reports (scheduler/answers/advice.py).
"""

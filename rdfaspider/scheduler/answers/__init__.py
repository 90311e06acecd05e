"""What the answer to a request means to the frontier.

outcomes.py    ends URLs in the frontier according to their pages
keeping.py     what a visit says for the next one, and of other pages
validators.py  conditional requests, and whose answers are believed
advice.py      describes pages and links to the order
guessing.py    URLs that may exist, and whether they did
"""

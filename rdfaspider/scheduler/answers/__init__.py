"""What the answer to a request means to the frontier.

outcomes.py    ends URLs in the frontier according to their pages
keeping.py     what the frontier keeps of a page for its next visit, and what it says of other pages
validators.py  conditional requests, and whose answers are believed
advice.py      describes pages and links to the order
guessing.py    URLs that may exist, and whether they did
"""

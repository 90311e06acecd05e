"""What users and other workers tell a running crawl, and what it reports to the service.

steering.py    pause, stop, other delays, other settings, in a crawl of one process
exclusions.py  URLs that the user has excluded meanwhile
sharing.py     what a worker of a shared crawl reports: its counters and its log
"""

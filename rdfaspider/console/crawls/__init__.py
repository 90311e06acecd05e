"""What the console shows of a crawl, in its own process or from outside, and what it can do to it."""

"""Commands that run a crawl, or steer one that runs."""

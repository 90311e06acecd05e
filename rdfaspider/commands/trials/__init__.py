"""Commands that need no crawl: one page, a generated web, a simulation."""

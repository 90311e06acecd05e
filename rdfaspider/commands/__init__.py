"""Commands of the project: the module's name is the command's, `scrapy NAME`.

crawls/    run a crawl, or steer one that runs
results/   read what a crawl has kept, change it, or give it to others
trials/    need no crawl: one page, a generated web, a simulation

Scrapy imports every module here at each call, so heavy imports go inside `run`.
"""

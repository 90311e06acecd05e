BOT_NAME = "books"
SPIDER_MODULES = ["books.spiders"]
USER_AGENT = "books/1.0 (+https://example.org/about)"

# The only line that is not Scrapy's own.
ADDONS = {"rdfaspider.Addon": 300}

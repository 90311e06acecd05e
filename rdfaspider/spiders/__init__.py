"""The spiders that `scrapy crawl` knows."""

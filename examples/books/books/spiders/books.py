"""Follows the links of a site, and makes an item of each page, with a word on its triples."""

from urllib.parse import urlsplit

import scrapy


class BooksSpider(scrapy.Spider):
    name = "books"

    def __init__(self, start, most=20, **kwargs):
        super().__init__(**kwargs)
        self.start_urls = [start]
        self.allowed_domains = [urlsplit(start).hostname]
        self.left = int(most) - 1

    def parse(self, response):
        page = response.meta.get("rdfaspider")  # None for an image, for example
        yield {
            "url": response.url,
            "title": response.css("title::text").get(),
            "triples": len(page.quads) if page else 0,
        }
        for link in response.css("a::attr(href)").getall():
            if self.left > 0 and link.startswith(("/", "http")):
                self.left -= 1
                yield response.follow(link, callback=self.parse)

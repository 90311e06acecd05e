"""Extensions: they watch the crawl and take no part in it."""

"""What users and other workers tell a running crawl."""

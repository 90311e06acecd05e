"""Commands that read what a crawl has kept, change it or give it away."""

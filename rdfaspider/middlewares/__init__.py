"""Downloader middlewares: what may be fetched, and when to stop fetching."""

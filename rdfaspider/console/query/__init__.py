"""Queries: the endpoint, and copies of the store, each asked in a process of its own."""

"""Links on disk: found and not yet looked up, not yet forwarded, of finished pages, of the link graph."""

"""Hosts in the console: the table of all, one of them, and the scans of the frontier behind both."""

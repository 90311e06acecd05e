"""WARC files: their records, how they are packed, written and read."""

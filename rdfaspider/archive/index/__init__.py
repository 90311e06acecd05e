"""The index of an archive: which captures there are of a URL, and where."""

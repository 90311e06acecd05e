"""Search and browse in the console: over the index (rdfaspider/search), the store and the archive."""

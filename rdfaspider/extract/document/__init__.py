"""A page as a document: its characters, the parser for it, and the one tree that all readers share."""

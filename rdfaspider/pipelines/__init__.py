"""Item pipelines, in the order a page passes them: extract, store."""

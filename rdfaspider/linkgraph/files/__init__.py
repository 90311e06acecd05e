"""The files of a graph: links and arrays larger than memory, sorted, packed, read in pieces."""

"""rdfaspider crawls the web politely and turns its RDFa into triples you can query."""

__version__ = "0.1.0"

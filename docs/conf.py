"""How Sphinx makes a site of these pages: `make docs`."""

from rdfaspider import __version__

project = "rdfaspider"
version = release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns: list[str] = []
myst_heading_anchors = 3
html_theme = "furo"
html_title = f"rdfaspider {__version__}"
autodoc_typehints = "description"

"""A page as a flat list of elements, whatever it was written in.

encoding   bytes to UTF-8
parse      chooses the parser, and falls back where one fails
html       HTML by turbohtml
xml        XHTML, SVG and other XML by libxml2
tree       the document: its elements, in order
limits     what one page may cost
"""

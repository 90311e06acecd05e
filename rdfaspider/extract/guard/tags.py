"""The tags of an HTML page as a browser's tokenizer sees them, without a tree.

One expression passes over what only looks like tags: comments, bogus comments, quoted values, and the
text of elements such as ``script`` up to their end tags. It follows the tokenizer of the HTML
standard (section 13.2.5) on a page in lower case. Where the standard asks what the tree looks like,
which is for the text of such elements and for CDATA inside SVG and MathML, the match says so, and the
reader of the tags decides.
"""

from __future__ import annotations

import re

_SPACE = rb"\t\n\f\r\x20"  # which is not \s

_PLACES = {b"s": _SPACE}
_BEFORE = rb"[%(s)s/]*+" % _PLACES
_NAME = rb"[^%(s)s/>][^%(s)s/>=]*+" % _PLACES
_VALUE = (
    rb"""(?:[%(s)s]*+=[%(s)s]*+
    (?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|[^%(s)s>"'][^%(s)s>]*+)?+)?+"""
    % _PLACES
)
ATTRIBUTE = (_BEFORE + _NAME + _VALUE).replace(b"\n    ", b"")
"""One attribute with what stands before it; an open quote reaches to the end of the page."""

NAMED_ATTRIBUTE = (_BEFORE + b"(" + _NAME + b")" + _VALUE).replace(b"\n    ", b"")
"""The same, with the name as a group."""

# Most attributes look like these, which are faster to match.
_ATTRIBUTES = rb"""(?:\x20[a-z-]++="[^"]*+")*+(?:%s)*+""" % ATTRIBUTE

# The text of a script may hold </script> between <!-- and -->, if a <script> opens there before.
_CODE = (
    rb"""(?:[^<]++|<(?!/script[%(s)s/>]|!--)|<!--(?:-?>|(?:[^<-]++
    |<script[%(s)s/>](?:[^<-]++|<(?!/script[%(s)s/>])|-(?!->))*+(?:</script[%(s)s/>])?+
    |(?!</script[%(s)s/>]|-->)[<-])*+(?:-->)?+))*+"""
    % _PLACES
)

_PLACES |= {
    b"attributes": _ATTRIBUTES,
    b"code": _CODE,
    b"raw": b"style|title|textarea|xmp|iframe|noembed|noframes",
}
TAGS = re.compile(
    rb"""<(?:
     (?:(?P<raw>%(raw)s)(?=[%(s)s/>])|(?P<script>script)(?=[%(s)s/>])|(?P<name>/?[a-z][^%(s)s/>]*+))
        (?P<attributes>%(attributes)s)(?P<end>[%(s)s/]*+)
        (?(raw)(?:>(?P<text>(?:[^<]++|<(?!/(?P=raw)[%(s)s/>]))*+))?+)
        (?(script)(?:>(?P<code>%(code)s))?+)
    |!--(?:-?>|(?:[^-]++|-(?!-!?>))*+(?:--!?>)?+)
    |(?P<cdata>!\[cdata\[[^>]*+)
    |[!?][^>]*+
    |/[^a-z>][^>]*+
    )"""
    % _PLACES,
    re.X | re.S,
)
"""Matches each tag of a page in lower case, and each stretch that holds none though it may seem so.

name         of a start tag, or of an end tag with its slash; None for all below
raw, script  the name of an element whose text has no tags in HTML, at its start tag
text, code   that text, of a script the latter
attributes   of any of these, as they stand there
end          what precedes the ``>``: a slash at the end closes elements of SVG and MathML
cdata        a CDATA section up to the first ``>``: in HTML a bogus comment that ends there
"""

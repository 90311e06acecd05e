"""The elements of HTML by what the tree builder of the HTML standard does about them."""

from __future__ import annotations


def _names(text: str) -> frozenset[bytes]:
    return frozenset(text.encode().split())


VOID = _names(
    "area base basefont bgsound br col embed frame hr image img input keygen link meta param source track wbr"
    " html head body"
)
"""Elements that nothing is ever put into, and those that are there whatever the tags say."""

FORMATTING = _names("b big code em font i nobr s small strike strong tt u")
"""Elements that are made again wherever the text goes on, until their end tag comes."""

ADOPTED = FORMATTING | {b"a"}
"""Those, and the one that never occurs twice."""

FOREIGN = _names("svg math")
"""Elements in which HTML ends until a marker or a tag that breaks out."""

INTEGRATION = {b"svg": _names("foreignobject desc"), b"math": _names("mi mo mn ms mtext")}
"""Elements inside of those in which HTML begins again."""

BREAKOUT = _names(
    "b big blockquote body br center code dd div dl dt em embed font h1 h2 h3 h4 h5 h6 head hr i img li"
    " listing menu meta nobr ol p pre ruby s small span strong strike sub sup table tt u ul var"
)
"""Start tags that close SVG and MathML."""

ODD = FOREIGN | _names("select template frameset")
"""Elements in which tags may mean something else, or nothing."""

HEADINGS = _names("h1 h2 h3 h4 h5 h6")
CELLS = _names("td th")
ROWS = _names("tbody thead tfoot tr")
PARTS = CELLS | ROWS | _names("caption colgroup")
"""Elements that mean nothing outside of a table."""

CLEARING = CELLS | _names("applet caption marquee object")
"""Elements that end the formatting inside of them."""

MARKERS = ODD | CLEARING | _names("table foreignobject desc mi mo mn ms mtext annotation-xml")
"""Elements that end tags inside of them do not reach across."""

BLOCKS = HEADINGS | _names(
    "address article aside blockquote center details dir div dl fieldset figcaption figure footer header"
    " listing main menu nav ol pre section summary ul dd dt li p"
)
"""Elements whose start tag closes a paragraph and whose end tag closes all that is open inside."""

SPECIAL = (
    BLOCKS
    | MARKERS
    | PARTS
    | VOID
    | _names(
        "button dialog form hgroup iframe noembed noframes noscript plaintext script search style"
        " textarea title xmp"
    )
)
"""Elements that the end tags of ordinary elements inside of them do not reach across."""

IMPLIED = _names("dd dt li optgroup option p rb rp rt rtc")
"""Elements whose end tags may be left out in more places than one."""

"""What the extraction says of its own quads, and that they are fit for any store."""

from __future__ import annotations

from html import escape

from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import RdfFormat, parse

from rdfaspider.extract import extract

# What people write where an IRI should be.
IRIS = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        ["", "#a", "a b", "http://x.test/{a}", "http://[", "x:<y>", "1a:b", "dc:title", "//", "_:a"]
    ),
    st.text('ab:/#%?{}|\\^`<>"é \u202e\ufffe', max_size=12).map("http://x.test/".__add__),
)
PAGES = st.builds(
    lambda values: (
        '<p about="{}" property="dc:title {}" content="é">x</p><a rel="{}" href="{}">y</a>'
        '<p typeof="{}" property="dc:date" datatype="{}">z</p>'
        '<div itemscope itemid="{}" itemtype="http://s.test/{}"><b itemprop="{}">w</b></div>'
    ).format(*map(escape, values)),
    st.lists(IRIS, min_size=9, max_size=9),
)


SVG = """<svg xmlns="http://www.w3.org/2000/svg"><metadata>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e.test/" rdf:version="1.2"
 xmlns:its="http://www.w3.org/2005/11/its" its:version="2.0">
<rdf:Description rdf:about="http://e.test/s"><e:said rdf:parseType="Triple">
<rdf:Description rdf:about="http://e.test/a"><e:q>v</e:q></rdf:Description></e:said>
<e:name>kept</e:name><e:long>%s</e:long></rdf:Description></rdf:RDF></metadata></svg>"""


def test_rdf_inside_svg_has_no_more_than_stores_take() -> None:
    found = extract((SVG % ("x" * 2_000_000)).encode(), "http://a.test/i.svg", "image/svg+xml")
    (quad,) = parse(found.nquads, RdfFormat.N_QUADS)
    assert quad.predicate.value == "http://e.test/name"
    assert found.facts.cuts["triple terms"] == found.facts.cuts["literal"] == 1


@given(PAGES)
def test_whatever_a_page_says_its_quads_are_valid_and_summed_up(page: str) -> None:
    found = extract(page.encode("utf-8", "replace"), "http://a.test/page")
    quads = list(parse(found.nquads, RdfFormat.N_QUADS))  # which refuses bad IRIs
    assert sorted(found.predicates) == sorted({quad.predicate.value for quad in quads})
    assert found.longest >= max((len(getattr(q.object, "value", "")) for q in quads), default=0)

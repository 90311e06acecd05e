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


@given(PAGES)
def test_whatever_a_page_says_its_quads_are_valid_and_summed_up(page: str) -> None:
    found = extract(page.encode("utf-8", "replace"), "http://a.test/page")
    quads = list(parse(found.nquads, RdfFormat.N_QUADS))  # which refuses bad IRIs
    assert sorted(found.predicates) == sorted({quad.predicate.value for quad in quads})
    assert found.longest >= max((len(getattr(q.object, "value", "")) for q in quads), default=0)

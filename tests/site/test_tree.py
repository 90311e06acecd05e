from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfaspider.site.tree import SECTIONS, Tree, section_name, section_number

TREES = st.builds(Tree, st.integers(0, 6), st.integers(1, 30))


@pytest.mark.parametrize(("n", "pages"), [(1, 2), (2, 7), (3, 40), (4, 341), (5, 3906)])
def test_n_levels_of_n_pages_have_the_counts_of_the_accuracy_table(n: int, pages: int) -> None:
    assert Tree(levels=n, pages=n).count == pages


@given(TREES, st.floats(0, 1, exclude_max=True))
def test_paths_lead_back_to_their_pages(tree: Tree, where: float) -> None:
    index = int(where * tree.count)
    assert tree.index(tree.path(index)) == index


@given(TREES, st.floats(0, 1, exclude_max=True))
def test_children_and_parents_agree(tree: Tree, where: float) -> None:
    index = int(where * tree.count)
    assert all(tree.parent(child) == index < child < tree.count for child in tree.children(index))
    assert len(tree.steps(index)) <= tree.levels
    assert bool(tree.children(index)) == (len(tree.steps(index)) < tree.levels)


def test_every_page_but_the_root_is_the_child_of_one_page() -> None:
    tree = Tree(3, 4)
    children = [child for index in range(tree.count) for child in tree.children(index)]
    assert children == list(range(1, tree.count))


def test_paths_name_section_and_numbers() -> None:
    tree = Tree(3, 10)
    assert [tree.path(index) for index in (0, 1, 2, 9, 11)] == [
        "/",
        "/people",
        "/books",
        "/2-people",
        "/people/a0",
    ]
    assert tree.section(tree.index("/books/a3/b7")) == tree.section(tree.index("/books")) == 1


@pytest.mark.parametrize(
    "path",
    [
        *(
            "",
            "people",
            "//",
            "/people/",
            "/people/a00",
            "/people/a4",
            "/people/a-1",
            "/people/1",
            "/people/b1",
            "/people/a1/b1/c1",
        ),
        *("/music", "/1-people", "/0-people", "/-people", "/x-people", "/people/a٣", "/People"),
        *("/people/a" + "9" * 5000, "/people" + "/a1" * 5000, "/people//a1"),
    ],
)
def test_other_paths_are_no_pages(path: str) -> None:
    with pytest.raises(ValueError):
        Tree(3, 4).index(path)


@given(st.text(alphabet="/-0123456789peoplbks", max_size=20))
def test_only_the_paths_of_pages_are_found(text: str) -> None:
    tree = Tree(3, 12)
    try:
        index = tree.index(text)
    except ValueError:
        return
    assert tree.path(index) == text


@given(st.integers(0, 10**6))
def test_section_names_lead_back(section: int) -> None:
    assert section_number(section_name(section)) == section


def test_no_section_is_the_beginning_of_another() -> None:
    names = [section_name(section) for section in range(30 * len(SECTIONS))]
    ordered = sorted(names)
    assert not any(b.startswith(a) for a, b in pairwise(ordered))

"""The learnt choice: few renders, most of what they could bring, whatever a web is like."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rdfaspider.items import Content, Page
from rdfaspider.rendering.choice import BURST, LearntChoice, marks_of
from tests.rendering.simulation import (
    IDLING,
    LARGE,
    LYING,
    PLAIN,
    SILENT,
    SMALL,
    UNEVEN,
    simulate,
)


@pytest.fixture(scope="session", autouse=True)
def chromium() -> str:
    """Run these tests where there is no browser, too."""
    return ""


INJECTING = b"<title>A</title><script>add('application/ld+json')</script>"
CODE = b"<title>A</title><script src=/site.js></script>"
NOTHING = Content()


def content(triples: int, links: int = 20) -> Content:
    return Content(nquads=b"\n" * triples, links=[f"http://a.test/{n}" for n in range(links)])


def ask(
    choice: LearntChoice,
    url: str,
    gain: int,
    *,
    body: bytes = INJECTING,
    held: int = 0,
    seconds: float = 1.0,
) -> bool:
    """Let a page pass by, which is rendered at once if that is wanted."""
    page, raw = Page(url=url, depth=0, body=body), content(held)
    wanted = choice.wants(page, raw)
    if wanted:
        choice.learn(page, raw, content(held + gain), seconds)
    return wanted


def template(
    choice: LearntChoice, path: str, gain: int, pages: int = 100, **more: Any
) -> list[bool]:
    """Return which pages of a template are rendered."""
    return [ask(choice, f"http://{path}/{n}", gain, **more) for n in range(pages)]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<main></main>",
        b'<script type="application/ld+json">{}</script>',
        b"<script type=application/json id=x>{}</script>",
        b"<p>how to use gtm.js and fetch() in dataLayer</p>",
    ],
)
def test_a_page_without_scripts_that_run_has_no_marks(body: bytes) -> None:
    assert marks_of(body) == 0
    assert not ask(LearntChoice(), "http://a.test/", 100, body=body)


@pytest.mark.parametrize(
    ("body", "other"),
    [
        (b'<div id="root"><p></div><script src=a.js></script>', CODE),
        (
            b'<div id="root"></div><script src=a.js></script>',
            b'<div id="root"><p>x</div><script src=a.js></script>',
        ),
        (b"<main> </main><script src=a.js></script>", b"<main>x</main><script src=a.js></script>"),
        (b"<script>window.dataLayer=[]</script>", CODE),
        (b"<script>__NEXT_DATA__={}</script>", CODE),
        (b"<script>fetch('/x')</script>", CODE),
        (b"<noscript>Please enable JavaScript.</noscript><script src=a.js></script>", CODE),
        (INJECTING, b'<script type="application/ld+json">{}</script><script>x</script>'),
    ],
)
def test_marks_tell_kinds_of_pages_apart(body: bytes, other: bytes) -> None:
    assert marks_of(body) != marks_of(other) > 0


def test_marks_of_a_large_page_are_found_in_its_beginning() -> None:
    hostile = (b"<main " + b"<div id=" * 20_000 + b"<script type=" * 20_000) * 10
    assert marks_of(hostile + INJECTING) == marks_of(hostile)
    assert marks_of(INJECTING + hostile) != marks_of(hostile)


def test_links_that_scripts_add_count_once() -> None:
    body, choice = b"<main></main>" + CODE, LearntChoice()
    menu = content(0, 30)

    def ask_for(number: int, links: list[str]) -> bool:
        page, raw = Page(url=f"http://a.test/a/{number}", depth=0, body=body), content(0, 0)
        wanted = choice.wants(page, raw)
        if wanted:
            choice.learn(page, raw, Content(links=links), 1.0)
        return wanted

    assert sum(ask_for(number, menu.links) for number in range(100)) < 30
    choice = LearntChoice()
    assert all(
        ask_for(number, [f"{link}/{number}" for link in menu.links]) for number in range(100)
    )


def test_a_template_that_gains_is_rendered_and_one_that_does_not_is_left_alone() -> None:
    choice = LearntChoice()
    assert all(template(choice, "a.test/rich", 9))
    poor = template(choice, "a.test/poor", 0, 400)
    assert poor[0], "the first page is a sample"
    assert sum(poor[:20]) <= 4
    assert sum(poor[20:]) <= 4, "it is looked at again rarely"


def test_a_template_that_begins_to_gain_is_found_and_one_that_ends_is_left() -> None:
    choice = LearntChoice()
    assert sum(template(choice, "a.test/a", 0, 100)) <= 6
    later = template(choice, "a.test/a", 9, 1_000)
    assert all(later[600:])
    ended = template(choice, "a.test/a", 0, 600)
    assert sum(ended[100:]) <= 12
    assert all(template(choice, "a.test/a", 9, 1_000)[800:]), "it is looked at again"


def test_passwords_are_not_kept() -> None:
    choice = LearntChoice()
    template(choice, "ann:secret@a.test:8000/a", 9)
    assert "secret" not in json.dumps(choice.state())


def test_hosts_learn_from_each_other() -> None:
    choice = LearntChoice()
    for host in range(60):
        template(choice, f"rich{host}.test/a", 9, 3, body=CODE)
        template(choice, f"poor{host}.test/a", 0, 3)
    fresh = LearntChoice()
    new = [f"http://new{host}.test/b/1" for host in range(20)]
    assert sum(ask(choice, url, 0) for url in new) <= 3, "these marks have meant nothing so far"
    assert all(ask(choice, url, 9, body=CODE) for url in new)
    assert ask(fresh, new[0], 0)
    assert not ask(fresh, new[0], 9, body=CODE)


def test_a_renderer_that_fails_or_takes_long_is_asked_less() -> None:
    choice = LearntChoice()
    template(choice, "fast.test/a", 9)
    asked = 0
    for number in range(100):
        page = Page(url=f"http://slow.test/b/{number}", depth=0, body=INJECTING)
        if choice.wants(page, NOTHING):
            asked += 1
            choice.learn(page, NOTHING, None, 20.0)
    assert 1 <= asked <= 5
    slow = template(choice, "late.test/c", 9, seconds=200.0)
    assert sum(slow) < 50, "a second of the browser brings more elsewhere"


def test_few_samples_of_a_template_are_under_way_at_once() -> None:
    choice = LearntChoice()
    pages = [Page(url=f"http://a.test/b/{n}", depth=0, body=INJECTING) for n in range(30)]
    wanted = [page for page in pages if choice.wants(page, NOTHING)]
    assert 4 <= len(wanted) <= 12
    for page in wanted:
        choice.learn(page, NOTHING, content(9), 1.0)
    assert all(template(choice, "a.test/b", 9))


def test_a_render_that_never_ends_is_forgotten() -> None:
    choice = LearntChoice()
    for number in range(200):
        choice.wants(Page(url=f"http://a.test/b/{number}", depth=0, body=INJECTING), NOTHING)
    assert sum(template(choice, "a.test/b", 9, 40)) > 20


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5])
def test_the_share_is_kept(share: float) -> None:
    choice = LearntChoice(share)
    rendered = sum(template(choice, "a.test/rich", 9, 2_000))
    assert rendered <= share * 2_000 + BURST
    assert rendered >= 0.95 * share * 2_000


def test_what_brings_most_gets_the_share() -> None:
    choice = LearntChoice(0.5)
    rich = poor = 0
    for number in range(3_000):
        rich += ask(choice, f"http://a.test/rich/{number}", 30)
        poor += ask(choice, f"http://a.test/poor/{number}", 6, body=CODE + INJECTING)
        ask(choice, f"http://a.test/plain/{number}", 0, body=b"")
    assert rich > 2_900
    assert poor > 0.8 * (0.5 * 9_000 - rich), "what is left goes to the others"
    assert rich + poor <= 0.5 * 9_000 + BURST


def test_memory_is_bounded() -> None:
    choice = LearntChoice(most=1_000)
    template(choice, "a.test/rich", 9, 20)
    for host in range(5_000):
        ask(choice, f"http://h{host}.test/a/1", host % 2)
    assert len(choice.state()["table"]) <= 1_000
    assert all(template(choice, "a.test/rich", 9, 20)), "what has most renders is kept"


def test_what_was_learnt_survives_a_restart() -> None:
    choice, restored = LearntChoice(), LearntChoice()
    for host in range(20):
        template(choice, f"h{host}.test/rich", 9, 10)
        template(choice, f"h{host}.test/poor", 0, 10, body=CODE + INJECTING)
    restored.restore(json.loads(json.dumps(choice.state())))
    for path, gain in (("h3.test/rich", 9), ("h3.test/poor", 0), ("new.test/a", 0)):
        assert template(choice, path, gain) == template(restored, path, gain)
    assert template(LearntChoice(), "h3.test/poor", 0) != template(restored, "h3.test/poor", 0)


@pytest.mark.parametrize(
    "state",
    [
        {},
        {"sums": [], "table": {}},
        {"sums": [0] * 6, "table": {"a": [1]}},
        {"sums": 3, "table": []},
    ],
)
def test_a_damaged_state_is_refused(state: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="damaged"):
        LearntChoice().restore(state)


# Crawls of the generated web. The fewest renders are those of an oracle that knows what each page would gain.


def check_sizes(seed: int, large: int, small: int, learning: float = 0.0) -> None:
    """Check crawls of large and of small hosts; `learning` is what the fewer pages are allowed besides."""
    for hosts, size, most in ((large, LARGE, 1.3), (small, SMALL, 2.0)):
        found = simulate(seed, hosts, **size, **PLAIN)
        assert found.recall >= 0.95, found
        assert found.recall_of_triples >= 0.95, found
        assert found.renders <= most * found.fewest_of_triples(0.95), found
        found = simulate(seed, hosts, **size, **UNEVEN)
        assert found.recall >= 0.95, found
        assert found.renders <= (most + learning) * found.fewest_of_gains(0.95), found
        found = simulate(seed, hosts, **size, **IDLING)
        assert found.renders <= 0.02 * found.pages, found
        found = simulate(seed, hosts, **size, **LYING)
        assert found.renders <= 0.05 * found.pages, found


def check_share(seed: int, hosts: int) -> None:
    """With a share a little above what an oracle needs for 95 % of all triples, these are found."""
    every = simulate(seed, hosts, 0.0, **LARGE, **PLAIN)
    fewest = every.fewest(0.95)
    found = simulate(seed, hosts, 1.2 * fewest / every.pages, **LARGE, **PLAIN)
    assert found.recall >= 0.95, found
    assert found.renders <= 1.3 * fewest, found


def test_a_crawl_renders_little_more_than_it_must() -> None:
    check_sizes(7, 8, 300, learning=0.2)


def test_a_crawl_with_a_small_share_renders_what_brings_most() -> None:
    check_share(7, 8)


def test_a_web_without_scripts_is_never_rendered() -> None:
    assert simulate(7, 3, **LARGE, **SILENT).renders == 0


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("seed", range(3))
def test_large_crawls_render_little_more_than_they_must(seed: int) -> None:
    check_sizes(seed, 100, 2_000)
    check_share(seed, 100)

"""Keys of the index are those that other tools look for."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfaspider.archive.index.keys import key_of
from rdfaspider.urls import normalise
from tests.archive.judges import tool

# Answers a line that is a URL in JSON with its key.
SCRIPT = """import json, surt, sys
for line in sys.stdin:
    print(json.dumps(surt.surt(json.loads(line))), flush=True)
"""

KeyOf = Callable[[str], str]


@pytest.fixture(scope="module")
def surt() -> Iterator[KeyOf]:
    """Ask the surt package, which is not installed where the tests run."""
    command = [tool("python"), "-W", "ignore", "-c", SCRIPT]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, encoding="utf-8") as process:
        assert process.stdin and process.stdout
        asked, answers = process.stdin, process.stdout

        def key(url: str) -> str:
            print(json.dumps(url), file=asked, flush=True)
            return str(json.loads(answers.readline()))

        yield key


SESSION = "0123456789abcdef0123456789abcdef"


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "https://127.0.0.1:8080/A",
        "http://www.example.org/",
        "http://www2.Example.org/a/",
        "http://www.example.co.uk/a//b/?",
        "https://user:word@example.org/?q=1",
        "http://example.org/a?b=2&b=1&a",
        "http://example.org/%7Efoo/%41b%20c",
        "http://example.org/a%2Fb",
        "http://[::1]/a",
        "http://xn--bcher-kva.example/",
        "http://example.org/?q=a%20b+c",
        f"http://example.org/?sid={SESSION}&z=1",
        f"http://example.org/index.php?a=1&PHPSESSID={SESSION}",
        f"http://example.org/?jsessionid={SESSION}",
        "http://example.org/(S(4hqa0555fwsecu455xqckv45))/page.aspx?a=1",
        "https://example.org:80/x",
        "http://www.com/",
        "http://example.org/caf%C3%A9",
        "http://example.org/%25zz",
    ],
)
def test_a_key_is_that_of_the_wayback_machine(surt: KeyOf, url: str) -> None:
    assert key_of(url) == surt(url)


@given(
    st.text("abAB/%.-_~", max_size=12),
    st.text("abAB=&%+", max_size=12),
    st.sampled_from(["example.org", "www.example.org", "a.b.example.org:8000"]),
)
def test_any_key_is(surt: KeyOf, path: str, query: str, host: str) -> None:
    url = normalise(f"http://{host}/{path}?{query}")
    assert key_of(url) == surt(url)


def test_what_is_no_url_has_no_key() -> None:
    with pytest.raises(ValueError, match="not a URL"):
        key_of("nonsense")

"""One page is fetched behind the guard, or a sentence says why not.

As in test_ssrf, a test that the canary stays unvisited has a first half in which it is visited.
"""

from __future__ import annotations

import datetime
import gzip
import ipaddress
import socket
import ssl
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import Any

import brotli  # type: ignore[import-untyped]
import pytest
from backports import zstd
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from scrapy.http import Response
from scrapy.settings import Settings

from rdfaspider.commands.trials._webpage import fetch
from rdfaspider.resolver import Resolver

Listening = Any  # conftest.Server

LOOPBACK = [
    "127.0.0.1",
    "127.1",
    "2130706433",
    "0x7f.1",
    "0177.0.0.1",
    "127.0.0.1.",
    "localhost",
    "LOCALHOST.",
    "foo.localhost",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "example.org@127.0.0.1",
]


@pytest.fixture(autouse=True)
def without_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for scheme in ("http", "https", "all", "no"):
        monkeypatch.delenv(f"{scheme}_proxy", raising=False)
        monkeypatch.delenv(f"{scheme}_proxy".upper(), raising=False)


def get(url: str, **options: Any) -> Response:
    settings = Settings()
    settings.setmodule("rdfaspider.settings", priority="project")
    settings.update({"DOWNLOAD_TIMEOUT": 5.0, **options}, priority="cmdline")
    return fetch(url, settings)


def failure(url: str, **options: Any) -> str:
    with pytest.raises(ValueError) as caught:
        get(url, **options)
    return str(caught.value)


@pytest.mark.parametrize("target", LOOPBACK)
def test_what_the_user_names_may_be_private_and_what_it_redirects_to_may_not(
    target: str, canary: Listening, friend: Listening
) -> None:
    assert get(f"http://{target}:{canary.port}/x").body == b"You asked for /x."
    assert canary.visits.pop() == "GET /x HTTP/1.1"
    friend.redirect("/", f"http://{target}:{canary.port}/x")
    sentence = failure(f"http://127.0.0.2:{friend.port}/")
    assert "redirects to" in sentence
    assert "RESOLVER_ALLOW" in sentence
    assert canary.visits == []


def test_the_users_server_may_be_reached_at_its_own_port_only(
    canary: Listening, friend: Listening
) -> None:
    canary.redirect("/a", "/b")
    assert get(f"http://127.0.0.1:{canary.port}/a").url == f"http://127.0.0.1:{canary.port}/b"
    with socket.create_server(("127.0.0.1", 0)) as other:
        canary.redirect("/", f"http://127.0.0.1:{other.getsockname()[1]}/")
        assert "loopback address" in failure(f"http://127.0.0.1:{canary.port}/")


def test_a_name_is_allowed_by_its_entry_and_not_by_being_asked_for(
    canary: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Resolver, "look_up", staticmethod(lambda name: ["127.0.0.1"]))
    url = f"http://wiki.intranet:{canary.port}/"
    assert get(url, RESOLVER_ALLOW=["wiki.intranet"]).body
    assert canary.visits.pop()
    assert "wiki.intranet has a loopback address" in failure(url)
    assert canary.visits == []


def test_of_several_addresses_those_that_are_refused_are_left_out(
    canary: Listening, friend: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = staticmethod(lambda name: ["127.0.0.1", "127.0.0.2"])
    monkeypatch.setattr(Resolver, "look_up", both)
    assert get(f"http://two.example:{canary.port}/", RESOLVER_ALLOW=["127.0.0.2"]).body
    assert len(friend.visits) == 1
    assert canary.visits == []


def test_redirects_end(friend: Listening) -> None:
    origin = f"http://127.0.0.2:{friend.port}"
    for number in range(7):
        friend.redirect(f"/{number}", f"/{number + 1}")
    assert get(f"{origin}/2").url == f"{origin}/7"
    assert failure(f"{origin}/1") == f"{origin}/1 redirects more than 5 times."
    assert len(friend.visits) == 6 + 6


@pytest.mark.parametrize("location", ["javascript:alert(1)", "file:///etc/passwd", "http://[bad"])
def test_a_redirect_to_what_is_no_page(location: str, friend: Listening) -> None:
    friend.redirect("/", location)
    assert "redirects to what cannot be fetched" in failure(f"http://127.0.0.2:{friend.port}/")


def test_a_proxy_of_the_user_may_be_anywhere_but_its_targets_may_not(
    canary: Listening, friend: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.2:{friend.port}")
    assert get("http://site.test/").body == b"You asked for http://site.test/."
    friend.redirect("http://site.test/", f"http://127.0.0.1:{canary.port}/")
    assert "loopback" in failure("http://site.test/")


def test_a_proxy_may_be_anywhere_only_as_a_proxy(
    friend: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Resolver, "look_up", staticmethod(lambda name: ["127.0.0.2"]))
    proxy = f"http://proxy.test:{friend.port}"
    monkeypatch.setenv("http_proxy", proxy)
    monkeypatch.setenv("no_proxy", "proxy.test")
    assert get("http://site.test/").body == b"You asked for http://site.test/."
    friend.redirect("http://site.test/", f"{proxy}/secrets")
    assert "loopback" in failure("http://site.test/")


@contextmanager
def talking(
    *parts: bytes, pause: float = 0.0, end: Callable[[], bytes] | None = None
) -> Iterator[str]:
    """Serve the same bytes to everybody, piece by piece; then what `end` makes, without end."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def talk() -> None:
            try:
                while True:
                    connection, _ = listener.accept()
                    with connection:
                        connection.recv(65536)
                        for part in parts:
                            connection.sendall(part)
                            time.sleep(pause)
                        while end is not None:
                            connection.sendall(end())
            except OSError:  # the visitor, or the listener, is gone
                return

        thread = Thread(target=talk, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        listener.shutdown(socket.SHUT_RDWR)
    thread.join(timeout=60)


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"


def test_an_answer_without_end_is_cut_off_by_its_size() -> None:
    with talking(HEAD + b"\r\n", end=lambda: b"x" * 65536) as url:
        assert "it is larger than DOWNLOAD_MAXSIZE" in failure(url, DOWNLOAD_MAXSIZE=1_000_000)


def test_an_answer_that_unpacks_without_end_is_cut_off_too() -> None:
    packed = gzip.compress(bytes(50_000_000))
    with talking(HEAD + b"Content-Encoding: gzip\r\n\r\n" + packed) as url:
        assert "it is larger than DOWNLOAD_MAXSIZE" in failure(url, DOWNLOAD_MAXSIZE=1_000_000)


PAGE = b"<title>One</title>" * 100


@pytest.mark.parametrize(
    ("encoding", "packed", "body"),
    [
        ("gzip", gzip.compress(PAGE), PAGE),
        ("gzip", gzip.compress(PAGE) + gzip.compress(PAGE), PAGE + PAGE),
        ("UTF-8", PAGE, PAGE),
        ("none, gzip", gzip.compress(PAGE), PAGE),
        ("deflate, br", brotli.compress(zlib.compress(PAGE)), PAGE),
        ("zstd", zstd.compress(PAGE), PAGE),
    ],
    ids=["gzip", "two members", "no encoding", "none, gzip", "deflate, br", "zstd"],
)
def test_an_answer_is_unpacked_as_in_a_crawl(encoding: str, packed: bytes, body: bytes) -> None:
    with talking(HEAD + f"Content-Encoding: {encoding}\r\n\r\n".encode() + packed) as url:
        assert get(url).body == body


def test_an_answer_that_drips_is_cut_off_by_the_clock() -> None:
    with talking(HEAD + b"\r\n", *[b"x"] * 40, pause=0.1) as url:
        start = time.monotonic()
        assert "within 0.5 seconds (DOWNLOAD_TIMEOUT)" in failure(url, DOWNLOAD_TIMEOUT=0.5)
        assert time.monotonic() - start < 2


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (b"HTTP/1.1 404 \x1b[31mNope\r\nContent-Length: 0\r\n\r\n", "answers 404 Not Found."),
        (b"HTTP/1.1 599 ?\r\nContent-Length: 0\r\n\r\n", "answers 599."),
        (b"HTTP/1.1 304 Not Modified\r\n\r\n", "answers 304 Not Modified."),
        (b"\x15\x03\x01 what?\r\n\r\n", "does not answer in HTTP."),
        (b"", "hangs up without an answer."),
        (HEAD + b"Content-Length: 10\r\n\r\nx", "end of response with 9 bytes missing."),
        (
            HEAD + b"Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc",
            "cannot be unpacked: Not a gzipped file (b'ab').",
        ),
        (
            HEAD + b"Content-Encoding: br, br, br, br\r\nContent-Length: 3\r\n\r\nabc",
            "cannot be unpacked: it is packed more than 3 times.",
        ),
    ],
)
def test_a_bad_answer_is_told_in_a_sentence(answer: bytes, sentence: str) -> None:
    with talking(answer) as url:
        told = failure(url)
    assert told.endswith(sentence)
    assert "\x1b" not in told


def test_no_server_is_told_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert failure(f"http://127.0.0.1:{port}/").endswith("the connection is refused.")

    def unknown(name: str) -> list[str]:
        raise OSError(name)

    monkeypatch.setattr(Resolver, "look_up", staticmethod(unknown))
    assert failure("http://no.example/") == "no.example has no address."
    assert "Not a URL" in failure("http://[bad/")


def test_tls_that_proves_nothing_is_told_in_a_sentence(tmp_path: Path, friend: Listening) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(self_signed(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def shake_hands() -> None:
            connection, _ = listener.accept()
            with connection, suppress(OSError):
                context.wrap_socket(connection, server_side=True).close()

        thread = Thread(target=shake_hands, daemon=True)
        thread.start()
        assert "self-signed certificate" in failure(
            f"https://127.0.0.1:{listener.getsockname()[1]}/"
        )
        thread.join(timeout=60)
    assert "TLS fails" in failure(f"https://127.0.0.2:{friend.port}/")


HERE = ipaddress.ip_address("127.0.0.1")


def self_signed(folder: Path) -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(HERE)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    encoding = serialization.Encoding.PEM
    private = serialization.PrivateFormat.PKCS8
    written = key.private_bytes(encoding, private, serialization.NoEncryption())
    path = folder / "self-signed.pem"
    path.write_bytes(written + certificate.public_bytes(encoding))
    return path

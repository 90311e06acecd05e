from __future__ import annotations

import re
from hashlib import md5
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rdfaspider.stores import Refused, StoreDown, StoreUnavailable
from rdfaspider.stores.server.access import Access
from rdfaspider.stores.server.http import Client

if TYPE_CHECKING:
    from tests.stores.conftest import FaultyServer

UPDATE = b"INSERT DATA { <x:s> <x:p> <x:o> }"


@pytest.mark.parametrize(
    ("access", "header", "value"),
    [
        (Access(user="me", password="pässword"), "Authorization", "Basic bWU6cMOkc3N3b3Jk"),
        (Access(token="abc"), "Authorization", "Bearer abc"),
        (Access(headers={"X-Key": "k"}), "X-Key", "k"),
    ],
)
def test_a_client_identifies_itself(
    faulty: FaultyServer, access: Access, header: str, value: str
) -> None:
    client = Client(faulty.url, access)
    client.request("POST", "", UPDATE)
    client.close()
    assert faulty.requests[0][1][header] == value
    assert "pässword" not in repr(access)


def test_a_name_in_the_url_is_used_and_not_shown(faulty: FaultyServer) -> None:
    client = Client(faulty.url.replace("//", "//me:p%20w@"))
    client.request("POST", "", UPDATE)
    client.close()
    assert faulty.requests[0][1]["Authorization"] == "Basic bWU6cCB3"
    assert client.url == faulty.url


def test_a_digest_is_given_when_asked_for(faulty: FaultyServer) -> None:
    """The response is computed here once more, from the words of RFC 7616."""
    faulty.fault = lambda body: None if len(faulty.requests) > 1 else 401
    client = Client(faulty.url, Access(user="me", password="pw"))
    for _ in range(2):
        client.request("POST", "", UPDATE)
    client.close()
    assert len(faulty.requests) == 3, "a challenge is answered beforehand from then on"

    def hash_of(text: str) -> str:
        return md5(text.encode(), usedforsecurity=False).hexdigest()

    for count, (path, headers) in enumerate(faulty.requests[1:], 1):
        given = dict(re.findall(r'(\w+)="?([^",]*)', headers["Authorization"]))
        assert (path, given["uri"]) == ("/update", "/update")
        assert int(given["nc"], 16) == count
        secret, request = hash_of("me:SPARQL:pw"), hash_of("POST:/update")
        wanted = hash_of(f"{secret}:n1:{given['nc']}:{given['cnonce']}:auth:{request}")
        assert given["response"] == wanted


def test_a_wrong_password_is_the_servers_business(faulty: FaultyServer) -> None:
    faulty.fault = lambda body: 401
    client = Client(faulty.url, Access(user="me", password="pw"))
    with pytest.raises(StoreDown, match="answers 401: the words of the server"):
        client.request("POST", "", UPDATE)
    client.close()


def test_a_connection_is_kept(faulty: FaultyServer) -> None:
    client = Client(faulty.url)
    for _ in range(3):
        client.request("POST", "", UPDATE)
    client.close()
    assert faulty.connections == 1


def test_a_connection_that_the_server_closed_is_opened_anew(faulty: FaultyServer) -> None:
    faulty.fault = lambda body: "last"
    client = Client(faulty.url)
    for _ in range(3):
        client.request("POST", "", UPDATE)
        assert faulty.closed.wait(60)
        faulty.closed.clear()
    client.close()
    assert len(faulty.requests) == 3


def test_an_end_in_the_midst_of_a_request_is_told_from_nobody_there(faulty: FaultyServer) -> None:
    faulty.fault = lambda body: "late" if len(faulty.requests) == 2 else None
    client = Client(faulty.url)
    client.request("POST", "", UPDATE)
    with pytest.raises(StoreDown, match="in the midst of a request") as caught:
        client.request("POST", "", UPDATE)
    assert caught.value.label == "interrupted"
    client.request("POST", "", UPDATE)
    client.close()


@pytest.mark.parametrize("status", [400, 409, 413, 415, 422])
def test_a_refusal_carries_the_words(faulty: FaultyServer, status: int) -> None:
    faulty.fault = lambda body: status
    client = Client(faulty.url)
    with pytest.raises(Refused, match=f"{status}: the words of the server"):
        client.request("POST", "", UPDATE)
    client.close()


def test_nobody_there() -> None:
    client = Client("http://127.0.0.1:1/update")
    with pytest.raises(StoreDown, match="cannot be reached") as caught:
        client.request("POST", "", UPDATE)
    assert caught.value.label == "connection"


@pytest.mark.parametrize("url", ["ftp://host/x", "http:///x", "host"])
def test_not_the_url_of_a_server(url: str) -> None:
    with pytest.raises(StoreUnavailable, match="not the URL of a server"):
        Client(url)


def test_certificates_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "empty.pem").touch()
    for name in ("empty.pem", "nowhere.pem"):
        access = Access(certificates=str(tmp_path / name))
        with pytest.raises(StoreUnavailable, match=f"The certificates in .*{name} cannot be read"):
            Client("https://127.0.0.1:1/", access)

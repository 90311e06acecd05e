"""The service and its workers: who is let in, what is sent again, and who holds what after a break."""

from __future__ import annotations

import json
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rdfaspider.frontier import FrontierUnavailable, Taken
from rdfaspider.frontier.engine.local import LocalFrontier
from rdfaspider.frontier.politeness import Politeness
from rdfaspider.service import BEAT, DEAD_AFTER, wire
from rdfaspider.service.address import Address, Security
from rdfaspider.service.messages import (
    End,
    Exchange,
    Greeting,
    Hello,
    ListHosts,
    Operations,
    Put,
    Retry,
    SetNote,
)
from rdfaspider.service.server import workers
from rdfaspider.service.server.handler import Handler
from rdfaspider.service.server.network import Service
from rdfaspider.service.server.workerlog import WorkerLog
from rdfaspider.service.wire import LARGE, SMALL, Frames, WireError, pack
from rdfaspider.service.worker.client import ServedFrontier
from tests.frontier.served import ThreadedService


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Served:
    """A frontier in a directory, and services that come and go."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.clock = Clock()
        self.address = Address(path=str(directory / "s.sock"))
        self.security = Security()
        self.delay = 0.0
        self.server_delay: float | None = None
        self.threaded: ThreadedService
        self.engine: LocalFrontier

    def start(self) -> None:
        manners = Politeness(delay=self.delay, server_delay=self.server_delay)
        path, now = str(self.directory / "frontier"), self.clock.now
        self.engine = LocalFrontier(path, politeness=manners, now=now)
        self.threaded = ThreadedService(self.engine, self.address, self.security, self.clock)

    def stop(self) -> None:
        self.threaded.close()
        self.engine.close()

    def worker(self, name: str = "", **options: Any) -> ServedFrontier:
        options = {"read_ahead": 8, "security": self.security, **options}
        return ServedFrontier(self.threaded.url, worker=name, **options)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    served = Served(tmp_path)
    served.start()
    yield served
    served.stop()


def eventually(function: Callable[[], Any], seconds: float = 60.0) -> Any:
    """Return what a function returns as soon as that is true."""
    end = time.monotonic() + seconds
    while not (result := function()):
        assert time.monotonic() < end
        time.sleep(0.005)
    return result


def take(frontier: ServedFrontier) -> Taken:
    taken: Taken = eventually(lambda: frontier.take(0.0))
    return taken


def settle(frontier: ServedFrontier) -> None:
    """Wait until everything is told."""
    frontier.session.exchange(Exchange(look="exactly"), 10)


URLS = [f"http://h{number}.test/" for number in range(40)]


# --- reading ahead ---


def test_workers_share_what_there_is(served: Served) -> None:
    with served.worker("one") as one, served.worker("other") as other:
        one.put(URLS)
        found: list[str] = []
        while len(found) < len(URLS):
            for frontier in (one, other):
                if (taken := frontier.take(0.0)) is not None:
                    found.append(taken.url)
                    frontier.finish(taken, "done", 0.0)
            time.sleep(0.001)
        settle(one)
        settle(other)
        assert sorted(found) == sorted(URLS)
        assert one.counts().done == len(URLS)
        eventually(lambda: one.wait(0.0) is None)


def test_what_a_worker_has_at_hand_is_given_back_when_it_leaves(served: Served) -> None:
    with served.worker("one") as one:
        one.put(URLS)
        take(one)
    with served.worker("other", read_ahead=64) as other:
        assert len({take(other).url for _ in URLS}) == len(URLS)


def test_a_host_rests_from_the_end_that_the_service_was_told_of(tmp_path: Path) -> None:
    served = Served(tmp_path)
    served.delay = 5.0
    served.start()
    with served.worker("one") as one:
        one.put(["http://a.test/1", "http://a.test/2"])
        first = take(one)
        served.clock.now += 100
        one.finish(first, "done", 0.0)
        settle(one)
        served.clock.now += 4.9
        settle(one)
        assert one.take(0.0) is None
        served.clock.now += 0.2
        take(one)
    served.stop()


def test_hosts_of_one_server_are_not_asked_by_two_workers_at_a_time(tmp_path: Path) -> None:
    served = Served(tmp_path)
    served.server_delay = 5.0
    served.start()
    with served.worker("one", read_ahead=0) as one, served.worker("other", read_ahead=0) as other:
        one.put(["http://a.test/", "http://b.test/"])
        settle(one)
        hosts = {name: host for host, name in eventually(lambda: one.hosts_to_resolve(9))}
        assert sorted(hosts) == ["a.test", "b.test"]
        for host in hosts.values():
            one.set_address(host, "192.0.2.1")
        settle(one)
        first = take(one)
        served.clock.now += 100
        settle(other)
        assert other.take(0.0) is None, "the server is being asked"
        one.finish(first, "done", 0.0)
        settle(one)
        served.clock.now += 4.9
        settle(other)
        assert other.take(0.0) is None
        served.clock.now += 0.2
        assert take(other).host != first.host
    served.stop()


# --- breaks ---


def test_a_message_whose_reply_was_lost_is_not_done_twice(served: Served) -> None:
    with served.worker("one", read_ahead=0, now=1000.0) as one:
        one.put(URLS)
        taken = one.take(0.0)
        assert taken is not None
        one.finish(taken, "failed", 0.0, reason="404")
        (worker,) = served.threaded.handler.workers
        again = Exchange(number=worker.number, did=[Put(["http://new.test/"], 0, [], 0)])
        assert served.threaded.handler.exchange(worker, again) == worker.reply
        assert one.counts().seen == len(URLS)


def test_a_connection_that_breaks_costs_nothing(served: Served) -> None:
    with served.worker("one") as one:
        one.put(URLS)
        found: list[str] = []
        while len(found) < len(URLS):
            taken = take(one)
            found.append(taken.url)
            if len(found) % 7 == 0 and one._connection._socket is not None:
                one._connection._socket.shutdown(socket.SHUT_RDWR)
            one.finish(taken, "done", 0.0)
        settle(one)
        assert sorted(found) == sorted(URLS)
        assert one.counts().done == len(URLS)


def test_a_service_that_comes_back_knows_what_its_workers_hold(served: Served) -> None:
    with served.worker("one") as one:
        one.put(URLS)
        held = take(one)
        settle(one)
        served.stop()
        served.start()
        assert served.threaded.handler.is_waiting_for_workers(served.clock.now)
        with served.worker("other", read_ahead=64) as other:
            settle(other)
            assert other.take(0.0) is None, "one may come back with anything"
            settle(one)
            others = {take(other).url for _ in range(len(URLS) - len(one.session.held))}
            assert held.url not in others
            assert not others & {taken.url for taken in one.session.held}
        one.finish(held, "done", 0.0)
        settle(one)
        assert one.counts().done == 1


def test_a_worker_that_holds_many_long_urls_can_come_back(served: Served) -> None:
    urls = [f"http://h{number}.test/{'x' * 1_500}" for number in range(800)]
    with served.worker("one", read_ahead=0, now=1000.0) as one:
        one.put(urls)
        held = [one.take(0.0) for _ in urls]
        assert all(held)
        served.stop()
        served.start()
        assert one.counts().in_flight == len(urls)
        for taken in held:
            assert taken is not None
            one.session.end(taken, lambda grant: End(grant, "done", [], {}))
        assert one.counts().done == len(urls)


def test_a_turn_that_was_lent_is_lent_once(served: Served) -> None:
    with served.worker("one") as one:
        url = "http://victim.test/robots.txt"
        eventually(lambda: one.borrow(None, url, "", 0.0) == 0.0)
        settle(one)
        assert one.session.lent == {}
        assert one.session.borrowing == {}


def test_what_is_at_hand_goes_back_when_all_are_told_to_pause(served: Served) -> None:
    with served.worker("one") as one:
        one.put(URLS)
        take(one)
        eventually(lambda: (one.counts(), one.session.at_hand)[1])
        with served.worker(onlooks=True, read_ahead=0) as onlooker:
            onlooker.tell("state", "pause")
        settle(one)
        settle(one)
        assert len(one.session.held) == 1
        assert one.counts().in_flight == 1


def test_what_has_ended_before_the_service_was_back_is_told(served: Served) -> None:
    with served.worker("one") as one:
        one.put(["http://a.test/"])
        held = take(one)
        settle(one)
        served.stop()
        one.finish(held, "done", 0.0, ["http://b.test/"])
        served.start()
        assert take(one).url == "http://b.test/"
        settle(one)
        assert one.counts().done == 1


def test_nobody_waits_for_ever_for_workers_that_do_not_come_back(served: Served) -> None:
    one = served.worker("one")
    one.put(URLS[:1])
    take(one)
    settle(one)
    one._connection.close()  # it is gone, without a word
    served.stop()
    served.start()
    with served.worker("other") as other:
        settle(other)
        assert other.take(0.0) is None
        served.clock.now += DEAD_AFTER + 1
        assert take(other).url == URLS[0]


def test_a_worker_that_is_not_heard_of_is_taken_for_dead(served: Served) -> None:
    one = served.worker("one")
    one.put(URLS[:1])
    lost = take(one)
    settle(one)
    with served.worker("other") as other:
        served.clock.now += DEAD_AFTER + 1
        settle(other)
        served.threaded.loop.call_soon_threadsafe(served.threaded.handler.remove_silent_workers)
        assert take(other).url == lost.url
        one.finish(lost, "failed", 0.0)
        settle(one)  # it is let in again, but holds nothing
        assert one.counts().in_flight == 1
    one.close()


def test_nobody_is_taken_for_dead_while_nobody_can_be_answered(served: Served) -> None:
    one = served.worker("one")
    one.put(URLS[:1])
    take(one)
    settle(one)
    served.threaded.service.is_cut_off = lambda: True
    served.clock.now += DEAD_AFTER + 1
    (worker,) = served.threaded.handler.workers
    eventually(lambda: worker.heard == served.clock.now)
    served.threaded.service.is_cut_off = lambda: False
    time.sleep(BEAT + 0.2)
    assert [worker.name for worker in served.threaded.handler.workers] == ["one"]
    assert served.engine.in_flight == 1
    one.close()


def test_a_name_is_one_worker(served: Served) -> None:
    with served.worker("one"), pytest.raises(FrontierUnavailable, match="in use by another worker"):
        served.worker("one")
    with served.worker("one"):
        assert [worker.name for worker in served.threaded.handler.workers] == ["one"]


# --- notes ---


def test_workers_add_to_a_note_and_are_told_what_others_added(served: Served) -> None:
    with served.worker("one") as one, served.worker("other") as other:
        heard: list[Any] = []
        one.watch("scope", lambda value: heard.append(json.loads(value)))
        other.watch("scope", lambda value: None)
        one.set_note("scope", b'["a"]')
        settle(one)
        other.set_note("scope", b'["b"]')
        settle(other)
        settle(one)
        assert heard == [["a", "b"]]
        assert one.note("scope") == b'["a", "b"]'
        one.set_note("alone", bytes(range(256)))
        assert one.note("alone") == bytes(range(256))
        assert one.note("none") is None


def test_all_workers_can_be_told_to_pause_and_how_long_to_wait(served: Served) -> None:
    with served.worker("one") as one:
        one.put(URLS)
        with served.worker(onlooks=True, read_ahead=0) as onlooker:
            onlooker.tell("state", "pause")
            settle(one)
            assert (one.state, one.take(0.0)) == ("pause", None)
            onlooker.tell("delay", "7.5")
            with pytest.raises(FrontierUnavailable, match="delay must be a number from 0"):
                onlooker.tell("delay", "-1")
        with served.worker(onlooks=True, read_ahead=0) as onlooker:
            onlooker.tell("state", "run")
            assert [worker.name for worker in onlooker.workers()] == ["one"]
        settle(one)
        take(one)
        assert served.engine.politeness.delay == 7.5
    served.stop()
    served.start()
    assert served.engine.politeness.delay == 7.5, "it is remembered"


def test_failed_urls_can_be_looked_at_and_requeued(served: Served) -> None:
    with served.worker("one") as one:
        one.put(URLS[:3])
        for _ in range(3):
            one.finish(take(one), "failed", 0.0, reason="404", status=404)
        settle(one)
        with served.worker(onlooks=True, read_ahead=0) as onlooker:
            assert sorted(view.url for view in onlooker.ended("failed")) == URLS[:3]
            assert [view.status for view in onlooker.ended("failed", "h1")] == [404]
            view = onlooker.url(URLS[0])
            assert view is not None and view.state == "failed"
            assert onlooker.url("http://unknown.test/") is None
            assert onlooker.requeue("h[12]") == 2
            assert onlooker.counts().waiting == 2


def test_what_workers_log_is_kept_in_one_place(served: Served) -> None:
    with served.worker("one") as one, served.worker("other") as other:
        first = [(0.0, "WARNING", "a\nb"), (1.0, "INFO", "c")]
        for frontier, lines in ((one, first), (other, [(2.0, "ERROR", "d \x1b[2J")])):
            frontier.session.exchange(Exchange(log=lines), 10)
        with served.worker(onlooks=True, read_ahead=0) as onlooker:
            assert onlooker.log(10, "INFO") == [
                "1970-01-01 00:00:00 WARNING [one] a / b",
                "1970-01-01 00:00:01 INFO [one] c",
                "1970-01-01 00:00:02 ERROR [other] d \x1b[2J",
            ]
            assert len(onlooker.log(10, "WARNING")) == 2
            assert len(onlooker.log(1, "DEBUG")) == 1


def test_the_log_of_all_workers_is_bounded(tmp_path: Path) -> None:
    log = WorkerLog(str(tmp_path / "frontier"))
    for _ in range(30):
        log.write("one", [(0.0, "INFO", "x" * 3_000)] * 200)
    files = list(tmp_path.iterdir())
    assert len(files) == 2
    assert sum(file.stat().st_size for file in files) < 10_000_000
    assert len(log.last(50, "INFO")) == 50


# --- who is let in ---


def connect(served: Served) -> socket.socket:
    plain = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    plain.settimeout(10)
    plain.connect(served.address.path)
    return plain


@pytest.mark.parametrize(
    "said",
    [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        (SMALL + 1).to_bytes(4, "big"),
        b"\0\0\0\2[]",
        b"\0\0\0\3{x}",
        pack(Hello(1, "challenge")),
        pack(ListHosts(True)),
        pack(Exchange(number=1, did=[Put(URLS, 0, [], 0)])),
        b"\0\0\x20\0" + b"\x91" * 0x2000,
    ],
)
def test_whoever_says_something_else_is_hung_up_on(served: Served, said: bytes) -> None:
    with connect(served) as stranger, served.worker("one") as one:
        stranger.sendall(said)
        while stranger.recv(1 << 16):
            pass
        one.put(URLS[:1])
        take(one)
        settle(one)
        assert one.counts().seen == 1


@pytest.mark.parametrize("did", [[["no such", 1]], [["end"]], [["put", 5, 0, []]], 7, [[]]])
def test_a_worker_that_makes_no_sense_is_told(served: Served, did: Any) -> None:
    with served.worker("one") as one, served.worker("two", read_ahead=0) as two:
        two.session.did = did
        with pytest.raises(FrontierUnavailable, match="cannot read this worker"):
            two.session.exchange(Exchange(), 10)
        one.put(URLS[:1])
        take(one)


def test_the_socket_is_for_its_owner_only(served: Served) -> None:
    assert Path(served.address.path).stat().st_mode & 0o077 == 0


def test_a_secret_that_is_wrong_is_said(tmp_path: Path) -> None:
    served = Served(tmp_path)
    served.security = Security(secret="right")
    served.start()
    with served.worker("one") as one:
        one.put(URLS[:1])
        take(one)
    for wrong in (Security(secret="wrong"), Security()):
        with pytest.raises(FrontierUnavailable, match="FRONTIER_SECRET"):
            served.worker("two", security=wrong)
    served.stop()


def test_a_service_that_does_not_know_the_secret_is_not_trusted(served: Served) -> None:
    with pytest.raises(FrontierUnavailable, match="FRONTIER_SECRET"):
        served.worker("one", security=Security(secret="ours"))


def test_nothing_listens_beyond_this_machine_without_a_secret(served: Served) -> None:
    handler = served.threaded.handler
    with pytest.raises(FrontierUnavailable, match="would admit everyone"):
        Service(handler, Address.parse("frontier://0.0.0.0"), Security())
    Service(handler, Address.parse("frontier://0.0.0.0"), Security(secret="x"))
    with pytest.raises(FrontierUnavailable, match="too long"):
        Service(handler, Address(path="/tmp/" + "x" * 200), Security())


def test_no_service_is_said_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(
        FrontierUnavailable, match=r"no frontier service at unix:.*scrapy frontier serve"
    ):
        ServedFrontier(f"unix:{tmp_path}/none.sock", patience=0.3)


def test_workers_and_service_can_talk_by_tls(tmp_path: Path) -> None:
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    command = (
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=frontier"
        " -addext subjectAltName=IP:127.0.0.1"
    )
    files = ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*command.split(), *files], check=True, capture_output=True)
    served = Served(tmp_path)
    served.address = Address(host="127.0.0.1", port=0)
    served.security = Security("secret", str(certificate), str(key))
    served.start()
    worker = Security("secret", str(certificate))
    with served.worker("one", security=worker) as one:
        assert isinstance(one._connection._socket, ssl.SSLSocket)
        one.put(URLS[:1])
        take(one)
    served.stop()


def test_frames_are_bounded() -> None:
    frames = Frames(10)
    with pytest.raises(WireError, match="1,000 bytes"):
        frames.feed((1000).to_bytes(4, "big"))
    one, two = pack(Exchange(number=1)), pack(Exchange(number=2))
    assert Frames(LARGE).feed(one + two[:5]) == [one[4:]]


def test_what_a_user_has_made_of_a_text_or_a_number_is_told(served: Served) -> None:
    class Text(str):
        pass

    with served.worker("one") as one:
        one.put([Text(url) for url in URLS[:2]], depth=True)
        one.finish(take(one), "done", 0.0, [Text(URLS[3])], reason=Text("page"), status=200)
        settle(one)
        assert one.counts().done == 1
        one.finish(take(one), "failed", 0.0, reason=object())  # type: ignore[arg-type]
        with pytest.raises(FrontierUnavailable, match="cannot be sent"):
            eventually(lambda: one.is_settled)  # `take` may still have URLs at hand


def test_what_is_in_no_encoding_is_told_nevertheless() -> None:
    did: list[Operations] = [SetNote("a", b"\xff"), Retry(1, 0.0, "\ud800", 0)]
    told = wire.said.read(pack(Exchange(log=[(0.0, "INFO", "caf\udce9")], did=did))[4:])
    did = [SetNote("a", b"\xff"), Retry(1, 0.0, "?", 0)]
    assert told == Exchange(log=[(0.0, "INFO", "caf?")], did=did)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("unix:crawl/frontier.sock", "unix:crawl/frontier.sock"),
        ("unix:///run/frontier.sock", "unix:/run/frontier.sock"),
        ("frontier://192.0.2.1", "frontier://192.0.2.1:7325"),
        ("frontier://[2001:db8::1]:99", "frontier://[2001:db8::1]:99"),
    ],
)
def test_addresses(url: str, shown: str) -> None:
    assert str(Address.parse(url)) == shown


@pytest.mark.parametrize(
    "url", ["unix:", "frontier:", "frontier://", "frontier://user:secret@host", "http://host"]
)
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(ValueError, match=r"must|secret"):
        Address.parse(url)


def greeting(name: str, grants: int = 0) -> Greeting:
    return Greeting(
        name=name, run="1", now=0.0, about={}, watched=[], grants=grants, holds=[], server_turns=[]
    )


def test_a_stop_reaches_workers_that_come_back_and_ends_with_a_new_one(tmp_path: Path) -> None:
    frontier = LocalFrontier(str(tmp_path / "frontier"), now=0.0)
    frontier.set_note(workers.NOTE, b'["one"]')
    frontier.set_note("told", b'{"state": "stop"}')
    with frontier:
        handler = Handler(frontier, lambda: 0.0)
        handler.greet(greeting("one"))
        assert handler.notes.state == "stop", "it was there when all were told"
        handler.greet(greeting(""))
        assert handler.notes.state == "stop", "that one only looks"
        handler.greet(greeting("three", grants=7))
        assert handler.notes.state == "stop", "it was taken for dead, and comes back"
        handler.greet(greeting("two"))
        assert handler.notes.state == "run"

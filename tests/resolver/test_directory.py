from __future__ import annotations

import errno
from collections.abc import Callable, Iterable
from ipaddress import ip_address
from queue import SimpleQueue
from threading import Event
from typing import Any

import pytest

from rdfaspider.resolver.addresses import Address
from rdfaspider.resolver.cache import Cache
from rdfaspider.resolver.directory import Directory, look_up
from rdfaspider.resolver.guard import Guard

PUBLIC = ip_address("8.8.8.8")
LOOPBACK = ip_address("127.0.0.1")


class Bench:
    """A directory with a clock that is set by hand and an event loop that is turned by hand."""

    def __init__(self, answer: Callable[[str], Iterable[str]], *allow: str) -> None:
        self.now = 0.0
        self.asked: list[str] = []
        self.told: list[tuple[Address, ...]] = []
        self.calls: SimpleQueue[tuple[Callable[..., None], Any]] = SimpleQueue()

        def ask(name: str) -> Iterable[str]:
            self.asked.append(name)
            return answer(name)

        self.directory = Directory(
            Guard(allow),
            Cache(100, hit_seconds=300, miss_seconds=60),
            threads=4,
            look_up=ask,
            clock=lambda: self.now,
            call_from_thread=lambda function, *arguments: self.calls.put((function, arguments)),
        )

    def turn(self) -> None:
        function, arguments = self.calls.get(timeout=60)
        function(*arguments)

    def find(self, host: str) -> tuple[Address, ...]:
        self.directory.find(host, self.told.append)
        if not self.told:
            self.turn()
        return self.told.pop()


def no_answer(name: str) -> list[str]:
    raise OSError(name)


def test_answers_come_from_the_cache_until_they_expire() -> None:
    bench = Bench(lambda name: ["8.8.8.8", "::1"])
    assert bench.find("Example.org") == bench.find("example.org.") == (PUBLIC, ip_address("::1"))
    assert bench.asked == ["example.org"]
    bench.now = 301
    bench.find("example.org")
    assert bench.asked == ["example.org"] * 2
    assert bench.directory.counts == {"miss": 2, "hit": 1}


def test_failures_are_remembered_for_a_shorter_time() -> None:
    bench = Bench(no_answer)
    assert bench.find("a.example") == bench.find("a.example") == ()
    bench.now = 61
    assert bench.find("a.example") == ()
    assert bench.asked == ["a.example"] * 2
    assert bench.directory.counts == {"miss": 2, "failed": 2, "hit": 1}


def test_a_look_up_waits_for_a_file_to_be_free() -> None:
    answers = iter([OSError(errno.EMFILE, "Too many open files")] * 2)

    def answer(name: str) -> list[str]:
        if error := next(answers, None):
            raise error
        return ["8.8.8.8"]

    bench = Bench(answer)
    assert bench.find("a.example") == (PUBLIC,)
    assert bench.asked == ["a.example"] * 3
    assert bench.directory.counts == {"miss": 1}


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.1", "[::1]", "::1", "a.localhost", "", "é" * 300]
)
def test_literals_and_nonsense_are_never_looked_up(host: str) -> None:
    bench = Bench(no_answer)
    bench.find(host)
    assert bench.asked == []


def test_a_look_up_that_cannot_be_made_is_a_failure() -> None:
    bench = Bench(look_up)
    assert bench.find(f"{'a' * 64}.example") == ()  # a label may have 63


def test_many_who_want_one_name_wait_for_one_look_up() -> None:
    go = Event()
    bench = Bench(lambda name: ["8.8.8.8"] if go.wait(10) else [])
    for _ in range(100):
        bench.directory.find("a.example", bench.told.append)
    assert bench.told == []
    go.set()
    bench.turn()
    assert bench.told == [(PUBLIC,)] * 100
    assert bench.asked == ["a.example"]


def test_a_name_that_moves_to_a_refused_address_is_refused() -> None:
    answers = [["8.8.8.8"], ["127.0.0.1"]]
    bench = Bench(lambda name: answers.pop(0))
    directory = bench.directory
    assert directory.admit("a.example", 80, bench.find("a.example")) == [PUBLIC]
    bench.now = 301
    assert directory.admit("a.example", 80, bench.find("a.example")) == []
    assert directory.counts["refused/loopback"] == 1


def test_refused_addresses_are_left_out_of_the_others() -> None:
    directory = Bench(no_answer).directory
    assert directory.admit("a.example", 80, (LOOPBACK, PUBLIC)) == [PUBLIC]
    assert directory.refusal("a.example", 80, (LOOPBACK, PUBLIC)) == ""
    assert "refused/loopback" not in directory.counts


def test_allowed_names_may_be_anywhere() -> None:
    directory = Bench(no_answer, "wiki.example:80").directory
    for host, port, admitted in (
        ("WIKI.example.", 80, True),
        ("wiki.example", 81, False),
        ("other.example", 80, False),
        ("other.example", 0, False),
    ):
        assert bool(directory.admit(host, port, (LOOPBACK,))) == admitted


def test_an_answer_after_the_end_of_the_loop_is_dropped() -> None:
    ended = Event()

    def call(function: Callable[..., None], *arguments: Any) -> None:
        ended.set()
        raise RuntimeError("Event loop is closed")

    directory = Directory(
        Guard(),
        Cache(1, 1, 1),
        threads=1,
        look_up=lambda name: [],
        clock=lambda: 0,
        call_from_thread=call,
    )
    directory.find("a.example", lambda found: None)
    assert ended.wait(10)  # and no thread ends in an exception, which would be a warning here


def test_the_system_knows_this_machine() -> None:
    assert set(look_up("localhost")) <= {"127.0.0.1", "::1"}


def test_stale_addresses_are_used_while_they_are_looked_up_again() -> None:
    answers = [["8.8.8.8"], ["127.0.0.1"]]
    bench = Bench(lambda name: answers.pop(0))
    bench.directory.cache.stale_seconds = 3600
    assert bench.find("a.example") == (PUBLIC,)
    bench.now = 301
    assert bench.find("a.example") == (PUBLIC,)
    bench.turn()
    assert bench.find("a.example") == (LOOPBACK,)
    assert bench.directory.admit("a.example", 80, (LOOPBACK,)) == []
    assert bench.directory.counts == {"miss": 1, "hit": 2, "stale": 1, "refused/loopback": 1}

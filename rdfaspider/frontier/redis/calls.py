"""What is said to the scripts, and what they answer: links going in, URLs going out and coming back."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from rdfaspider.frontier import Taken
from rdfaspider.frontier.hosts import Host
from rdfaspider.frontier.keys import host_name, host_of, to_key, to_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

# One script takes in about so many URLs, so that Redis serves others in between.
_CHUNK = 500

# URLs of some hosts: the keys of hosts, and what follows in the keys of their URLs, with depths.
Chunk = dict[bytes, dict[bytes, int]]


def fingerprint(key: bytes) -> int:
    """Return the 63 bits by which Redis knows a URL."""
    return int.from_bytes(blake2b(key, digest_size=8).digest()) >> 1


class Inbox:
    """Links on their way to Redis, by partition and host, each URL of a chunk once, with its smallest depth.

    They are chunked as they come, so that to empty it is to hand over a few references.
    """

    def __init__(self, partition_of: Callable[[str], int]) -> None:
        self._partitions: dict[int, list[Chunk]] = {}
        self._room: dict[int, int] = {}  # of the last chunk of each
        self.size = 0
        self.floor = 255  # the smallest depth of what is in it

        @lru_cache(65_536)
        def place(origin: str) -> tuple[int, bytes, bytes]:
            service = to_key(origin + "/")[:-1]
            host = host_of(service)
            return partition_of(host_name(host)), host, service[len(host) :]

        self._place = place

        @lru_cache(65_536)
        def partition(host: bytes) -> int:
            return partition_of(host_name(host))

        self.partition = partition

    def add(self, url: str, depth: int) -> None:
        """Take in a normalised URL; ValueError if it is none."""
        slash = url.index("/", 8)
        partition, host, service = self._place(url[:slash])
        tail = service + url[slash:].encode("ascii")
        if not self._room.get(partition):
            self._room[partition] = _CHUNK
            self._partitions.setdefault(partition, []).append({})
        tails = self._partitions[partition][-1].setdefault(host, {})
        if tails.get(tail, 256) > depth:
            if tail not in tails:
                self.size += 1
                self._room[partition] -= 1
            tails[tail] = depth
            if depth < self.floor:
                self.floor = depth

    def partitions(self) -> set[int]:
        return set(self._partitions)

    def empty(self) -> Iterator[tuple[int, Chunk]]:
        """Yield (partition, what a script takes in) for all that is in it, and forget it."""
        for partition, chunks in self._partitions.items():
            for chunk in chunks:
                yield partition, chunk
        self._partitions, self._room = {}, {}
        self.size, self.floor = 0, 255


def lines(chunk: Chunk) -> bytes:
    """Return URLs as the script `put` reads them."""
    parts: list[bytes] = []
    for host, tails in chunk.items():
        parts.append(host)
        parts += [b"%d %d %b" % (fingerprint(host + tail), d, tail) for tail, d in tails.items()]
    return b"\n".join(parts)


@dataclass(slots=True, eq=False)
class Lease:
    """A URL that this worker holds: from when it may be fetched, by the clock of Redis."""

    taken: Taken
    token: int
    partition: int
    host: Host
    start: float
    address: str = ""

    @property
    def identity(self) -> str:
        return f"{self.partition} {self.token}"

    def __lt__(self, other: Lease) -> bool:
        return self.start < other.start


def host_at(key: bytes, hosts: dict[int, Host]) -> Host:
    """Return a host as it is remembered, or anew."""
    number = fingerprint(key)
    host = hosts.get(number)
    if host is None:
        host = hosts[number] = Host(key, number)
    return host


def read_lease(reply: list[Any], partition: int, hosts: dict[int, Host]) -> Lease:
    """Return what a `take` handed out, and refresh what is known of its host."""
    print_, token, depth, attempts, start, key, tail, done, failed, failures = reply[:10]
    host = host_at(key, hosts)
    host.done, host.failed, host.failures = int(done), int(failed), int(failures)
    host.crawl_delay, host.latency, host.backoff, host.blocked = map(float, reply[10:14])
    taken = Taken(to_url(key + tail), int(depth), int(attempts), int(print_), host.id)
    return Lease(taken, int(token), partition, host, float(start), reply[14].decode())


@dataclass(slots=True, eq=False)
class Landing:
    """What became of a URL, or of a host, as it is told to the script `land`.

    `depth` is the one by which the links were taken in: if a shorter way was found meanwhile, the script
    says so, and the links are taken in once more. `record` are the links to be put on record or, of a URL
    that is not done, the status and the reason.
    """

    what: str
    partition: int
    subject: str | bytes | int
    time: float
    token: int = 0
    depth: int = 0
    until: float = 0.0
    rejected: int = 0
    record: bytes = b""
    host: Host | None = None
    pause: float = 0.0
    links: tuple[str, ...] = ()
    deeper: int = 1

    def arguments(self) -> tuple[str | bytes | int, ...]:
        host = self.host
        manners = (
            (host.failures, host.crawl_delay, host.latency, host.backoff, host.blocked)
            if host is not None
            else (0, 0, 0, 0, 0)
        )
        return (
            self.what,
            self.subject,
            self.token,
            repr(self.time),
            self.depth,
            repr(self.until),
            self.rejected,
            self.record,
            *map(repr, (self.pause, *manners)),
        )


def pack_links(deeper: int, links: Iterable[str]) -> bytes:
    """Return links as they are put on record."""
    return b"%d " % deeper + zlib.compress("\n".join(links).encode(), 1)


def unpack_links(entry: bytes) -> tuple[int, list[str]]:
    """Return the depth and the links of an entry that is to be passed on."""
    depth, _, rest = entry.partition(b" ")
    _, _, packed = rest.partition(b" ")
    text = zlib.decompress(packed).decode()
    return int(depth), text.split("\n") if text else []

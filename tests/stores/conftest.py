"""Servers that the stores are tested against: four real ones, and two that have faults on demand."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, build_opener

import pyoxigraph
import pytest

from rdfaspider.stores.server.http import Client

PROJECT = Path(__file__).parents[2]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Server:
    """A server process that can be killed and started again on the same port and data."""

    def __init__(self, command: list[str], probe: str) -> None:
        self.command = command
        self.probe = probe
        self.start()

    def start(self) -> None:
        null = subprocess.DEVNULL
        self.process = subprocess.Popen(self.command, stdin=null, stdout=null, stderr=null)
        opener = build_opener(ProxyHandler({}))
        deadline = time.monotonic() + 60
        while True:
            try:
                with opener.open(self.probe, timeout=5):
                    return
            except (URLError, OSError):
                assert self.process.poll() is None, f"{self.command[0]} does not start"
                assert time.monotonic() < deadline, f"{self.command[0]} does not answer"
                time.sleep(0.1)

    def cpu(self) -> float:
        """Return the seconds of CPU that the process has taken since it was started."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


@contextmanager
def running(server: Server) -> Iterator[Server]:
    try:
        yield server
    finally:
        server.kill()


def rdf4j_command(directory: Path, port: int) -> list[str]:
    """Return how to start an RDF4J server that logs beside its directory; skip if there is none."""
    cache = Path(os.environ.get("RDFASPIDER_RDF4J", PROJECT / ".cache"))
    wars = sorted(cache.glob("rdf4j-http-server-*.war"))
    runners = sorted(cache.glob("jetty-runner-*.jar"))
    java = shutil.which("java")
    if not (wars and runners and java):
        pytest.skip(f"no RDF4J server in {cache}, or no Java: run sh tests/rdf4j.sh")
    jvm = [java, "-Xmx768m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    data = f"-Dorg.eclipse.rdf4j.appdata.basedir={directory}"
    place = ["--host", "127.0.0.1", "--port", str(port), "--path", "/rdf4j-server"]
    log = ["--log", str(directory.with_suffix(".log"))]
    return [*jvm, data, "-jar", str(runners[-1]), *place, *log, str(wars[-1])]


@contextmanager
def rdf4j_server(directory: Path) -> Iterator[tuple[Server, str]]:
    """Run an RDF4J server; the values are the process and the URL of its repositories."""
    port = free_port()
    base = f"http://127.0.0.1:{port}/rdf4j-server"
    with running(Server(rdf4j_command(directory, port), f"{base}/protocol")) as server:
        yield server, f"{base}/repositories"


@pytest.fixture(scope="session")
def rdf4j(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the URL of the repositories of a real RDF4J server."""
    with rdf4j_server(tmp_path_factory.mktemp("rdf4j")) as (_, url):
        yield url


@contextmanager
def fuseki_server(directory: Path) -> Iterator[tuple[Server, str]]:
    """Run a Fuseki server with a dataset in memory; the values are the process and the dataset's URL."""
    cache = Path(os.environ.get("RDFASPIDER_FUSEKI", PROJECT / ".cache"))
    jars = sorted(cache.glob("jena-fuseki-server-*.jar"))
    java = shutil.which("java")
    if not (jars and java):
        pytest.skip(f"no Fuseki server in {cache}, or no Java: run sh tests/fuseki.sh")
    port = free_port()
    base = f"http://127.0.0.1:{port}"
    command = [java, "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    command += [f"-DFUSEKI_BASE={directory}", "-jar", str(jars[-1]), "--localhost"]
    command += ["--port", str(port), "--ping", "--memTDB", "/crawl"]
    with running(Server(command, f"{base}/$/ping")) as server:
        yield server, f"{base}/crawl"


@pytest.fixture(scope="session")
def fuseki(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the URL of the dataset of a real Fuseki server."""
    with fuseki_server(tmp_path_factory.mktemp("fuseki")) as (_, url):
        yield url


# As little of the machine as Virtuoso can do with, and no web server but for SPARQL.
_VIRTUOSO = """\
[Database]
DatabaseFile = {directory}/crawl.db
ErrorLogFile = {directory}/crawl.log
LockFile = {directory}/crawl.lck
TransactionFile = {directory}/crawl.trx
xa_persistent_file = {directory}/crawl.pxa
[TempDatabase]
DatabaseFile = {directory}/temp.db
TransactionFile = {directory}/temp.trx
[Parameters]
ServerPort = 127.0.0.1:{sql}
NumberOfBuffers = 2000
[HTTPServer]
ServerPort = 127.0.0.1:{http}
"""


@contextmanager
def virtuoso_server(directory: Path) -> Iterator[tuple[Server, str, int]]:
    """Run a Virtuoso server; the values are the process, its URL and the port for SQL."""
    program = shutil.which("virtuoso-t")
    if not program:
        pytest.skip("no Virtuoso server: run sh tests/apt.sh virtuoso-opensource-7-bin")
    sql, http = free_port(), free_port()
    settings = directory / "virtuoso.ini"
    settings.write_text(_VIRTUOSO.format(directory=directory, sql=sql, http=http))
    command = [program, "+foreground", "+configfile", str(settings)]
    with running(Server(command, f"http://127.0.0.1:{http}/sparql")) as server:
        yield server, f"http://dba:dba@127.0.0.1:{http}", sql


@pytest.fixture(scope="session")
def _virtuoso(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    with virtuoso_server(tmp_path_factory.mktemp("virtuoso")) as (_, url, sql):
        yield url, sql


@pytest.fixture
def virtuoso(_virtuoso: tuple[str, int]) -> str:
    """Return the URL of a real Virtuoso server that is empty: without its own graphs, too."""
    url, sql = _virtuoso
    command = ["isql-vt", str(sql), "dba", "dba", "exec=delete from DB.DBA.RDF_QUAD;"]
    subprocess.run(command, check=True, capture_output=True)
    return url


@contextmanager
def oxigraph_server(directory: Path) -> Iterator[tuple[Server, str]]:
    """Run an Oxigraph server; the values are the process and its URL."""
    program = Path(sys.executable).parent / "oxigraph"
    if not program.exists():
        pytest.skip("no Oxigraph server: pip install oxigraph")
    port = free_port()
    command = [str(program), "serve", "-l", str(directory), "-b", f"127.0.0.1:{port}"]
    with running(Server(command, f"http://127.0.0.1:{port}/")) as server:
        yield server, f"http://127.0.0.1:{port}"


@pytest.fixture
def oxigraph(tmp_path: Path) -> Iterator[str]:
    with oxigraph_server(tmp_path / "oxigraph") as (_, url):
        yield url


FUSEKI = {"fuseki-gsp": "gsp+{}/data", "fuseki-update": "update+{}/update", "fuseki": "update+{}"}
# Kinds of stores that can be queried, and all of them.
QUERIED = ("oxigraph", "own", "rdf4j", "lmdb", "gsp", "update", *FUSEKI)
KINDS = (*QUERIED, "nquads")
# Kinds that cannot do all that these can.
VIRTUOSO = {
    "virtuoso-gsp": "gsp+{}/sparql-graph-crud-auth",
    "virtuoso-update": "update+{}/sparql-auth",
}
# A store of another package, by its dotted path.
OWN = "python:examples.ownparts.ownparts.SqliteStore"


def url_of(kind: str, request: pytest.FixtureRequest, directory: Path) -> str:
    """Return the URL of a store of a kind that is empty; it may be in the directory."""
    if kind in ("rdf4j", "lmdb"):
        sail = "?sail=lmdb" if kind == "lmdb" else ""
        return f"rdf4j+{request.getfixturevalue('rdf4j')}/{uuid.uuid4().hex}{sail}"
    if kind in ("gsp", "update"):
        server = request.getfixturevalue("oxigraph")
        return f"{kind}+{server}/{'store' if kind == 'gsp' else 'update'}"
    if kind in FUSEKI:
        server = request.getfixturevalue("fuseki")
        with closing(Client(server)) as client:
            text = "application/sparql-update"
            client.request("POST", "/update", b"DROP ALL", content_type=text)
        return FUSEKI[kind].format(server)
    if kind in VIRTUOSO:
        return VIRTUOSO[kind].format(request.getfixturevalue("virtuoso"))
    if kind == "own":
        return f"{OWN}:{directory / 'store.sqlite'}"
    return f"{'nquads:' if kind == 'nquads' else ''}{directory / 'store'}"


Fault = int | str | None


class FaultyServer(ThreadingHTTPServer):
    """A SPARQL Update endpoint over a store in memory, with the faults that a test asks for.

    `fault` sees each request's body and says what goes wrong: a status, `drop` (the connection
    ends without an answer), `late` (it ends after the update was made), `last` (it ends after the
    answer), or nothing.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.fault: Callable[[bytes], Fault] = lambda body: None
        self.store = pyoxigraph.Store()
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.lock = Lock()
        self.connections = 0
        self.closed = Event()

    def process_request(self, *arguments: Any) -> None:
        self.connections += 1
        super().process_request(*arguments)

    def shutdown_request(self, request: Any) -> None:
        super().shutdown_request(request)
        self.closed.set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/update"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FaultyServer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with self.server.lock:
            self.server.requests.append((self.path, dict(self.headers)))
            fault = self.server.fault(body)
            if fault in (None, "late", "last"):
                self.server.store.update(body.decode())
        if fault == "last":
            self.answer(204, b"")
        if isinstance(fault, str):
            self.close_connection = True
        elif fault:
            self.answer(fault, b"the words\nof the server")
        else:
            self.answer(204, b"")

    def answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        if status == 401:
            challenge = 'Digest realm="SPARQL", nonce="n1", qop="auth", algorithm=MD5'
            self.send_header("WWW-Authenticate", challenge)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def faulty() -> Iterator[FaultyServer]:
    with FaultyServer() as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


class Gateway(ThreadingHTTPServer):
    """Stands before a real server and hands everything on, with the faults that a test asks for.

    `fault` sees the body of each write and says what goes wrong: a status, `drop`, `late` and
    `hang` (no answer, though the write was handed on), or nothing. It may do more, as to kill
    the server: `dying` is called while the write is on its way. What a form has besides its query is
    dropped unless it `keeps_parameters`.
    """

    daemon_threads = True

    def __init__(self, server: str) -> None:
        super().__init__(("127.0.0.1", 0), Forwarder)
        self.place = urlsplit(server).netloc
        self.fault: Callable[[bytes], Fault] = lambda body: None
        self.dying: Callable[[], None] | None = None
        self.released = Event()
        self.keeps_parameters = True
        self.writes = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/rdf4j-server/repositories"

    def forward(
        self, method: str, path: str, body: bytes, headers: dict[str, str]
    ) -> tuple[int, bytes, str]:
        connection = HTTPConnection(self.place, timeout=60)
        try:
            connection.request(method, path, body or None, headers)
            response = connection.getresponse()
            kind = response.headers.get("Content-Type", "text/plain")
            return response.status, response.read(), kind
        except ConnectionRefusedError:
            return 503, b"nobody there", "text/plain"
        finally:
            connection.close()


class Forwarder(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Gateway

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        is_write = self.path.endswith("/statements")
        self.server.writes += is_write
        fault = self.server.fault(body) if is_write else None
        if isinstance(fault, int):
            self.answer(fault, b"the words of the gateway")
            return
        if fault == "drop":
            self.close_connection = True
            return
        self.hand_on(body, fault)

    do_GET = do_PUT = do_DELETE = do_POST

    def hand_on(self, body: bytes, fault: Fault) -> None:
        dying, self.server.dying = self.server.dying, None
        thread = Thread(target=dying) if dying else None
        if thread:
            thread.start()
        defaults = {"Content-Type": "", "Accept": "*/*"}
        headers = {name: self.headers.get(name, value) for name, value in defaults.items()}
        try:
            if not self.server.keeps_parameters:
                body = body.partition(b"&")[0]
            status, answer, kind = self.server.forward(self.command, self.path, body, headers)
        except (OSError, HTTPException):
            fault = "late"
        if thread:
            thread.join()
        if fault == "hang":
            self.server.released.wait(30)
        if fault:
            self.close_connection = True
        else:
            self.answer(status, answer, kind)

    def answer(self, status: int, body: bytes, kind: str = "text/plain") -> None:
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body if status != 204 else b"")

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def gateway_to(server: str) -> Iterator[Gateway]:
    with Gateway(server) as gateway:
        thread = Thread(target=gateway.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield gateway
        finally:
            gateway.released.set()
            gateway.shutdown()
            thread.join()

"""Crawlers of other languages: small programs in peers/, built into .cache/peers.

Each is built when it is first used, with the tool chain that is there, from the versions that its
go.mod, Cargo.toml or pom.xml names. Where the tool chain or its registry is missing, `build` says so.
Apache Nutch is not built: its plugins are in no registry, so NUTCH_HOME names an installed one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

SOURCES = Path(__file__).parent / "peers"
BUILT = SOURCES.parents[3] / ".cache" / "peers"
# Seconds; hundreds of crates are compiled for one of them.
LONGEST = 1800


class Unavailable(Exception):
    """Why a peer cannot run here."""


@dataclass(frozen=True)
class Peer:
    """A program in a folder of its own; the same program may be several contenders."""

    folder: str
    tools: tuple[str, ...]
    make: tuple[str, ...]
    command: Callable[[], list[str]]
    environment: dict[str, str] = field(default_factory=dict)

    def build(self) -> None:
        """Build the program unless that is done; Unavailable, with the reason, if it cannot be."""
        source, ready = SOURCES / self.folder, BUILT / f"{self.folder}.ready"
        newest = max(path.stat().st_mtime for path in source.rglob("*") if path.is_file())
        if ready.exists() and ready.stat().st_mtime >= newest:
            return
        if missing := [tool for tool in self.tools if not shutil.which(tool)]:
            raise Unavailable(f"{self.folder} is not built: no {' and no '.join(missing)} here")
        BUILT.mkdir(parents=True, exist_ok=True)
        print(f"Building {self.folder}: {' '.join(self.make)} …")
        log = BUILT / f"{self.folder}.log"
        with log.open("wb") as output:
            try:
                subprocess.run(
                    self.make,
                    cwd=source,
                    env={**os.environ, **self.environment},
                    stdout=output,
                    stderr=output,
                    check=True,
                    timeout=LONGEST,
                )
            except subprocess.SubprocessError as error:
                raise Unavailable(f"{self.folder} is not built ({error}): see {log}") from error
        ready.touch()


@dataclass(frozen=True)
class Installed:
    """A program that the user has installed, in a folder that an environment variable names."""

    variable: str
    program: str
    module: str

    def build(self) -> None:
        """Check that the program is there; Unavailable, with the reason, if it is not."""
        home = os.environ.get(self.variable)
        if not home:
            raise Unavailable(f"{self.variable} does not say where it is installed")
        if not os.access(Path(home) / self.program, os.X_OK):
            raise Unavailable(f"{self.variable} is {home}, where there is no {self.program}")

    def command(self) -> list[str]:
        return _python(self.module)


def _java(folder: str) -> list[str]:
    built = BUILT / folder
    return ["java", "-cp", f"{built}/classes:{built}/dependency/*", "Peer"]


def _python(module: str) -> list[str]:
    return [sys.executable, "-m", f"tests.benchmarks.speed.{module}"]


def _maven(folder: str, command: Callable[[str], list[str]]) -> Peer:
    goals = ("compile", "dependency:copy-dependencies", "-DincludeScope=runtime")
    make = ("mvn", "--batch-mode", "--quiet", *goals, f"-Dpeer.build={BUILT / folder}")
    return Peer(folder, ("java", "javac", "mvn"), make, lambda: command(folder))


COMPILED = {
    "colly": Peer(
        "colly",
        ("go",),
        ("go", "build", "-o", str(BUILT / "colly"), "."),
        lambda: [str(BUILT / "colly")],
    ),
    "spider": Peer(
        "spider",
        ("cargo", "cc"),
        ("cargo", "build", "--release", "--quiet"),
        lambda: [str(BUILT / "spider" / "release" / "peer")],
        {"CARGO_TARGET_DIR": str(BUILT / "spider")},
    ),
    "crawler4j": _maven("crawler4j", _java),
    "heritrix": _maven("heritrix", _python),
}
PEERS: dict[str, Peer | Installed] = {
    **COMPILED,
    "nutch": Installed("NUTCH_HOME", "bin/nutch", "nutch"),
}

"""Commands for a user to paste: how to resume this crawl, and how to query it. They show no secret.

A command repeats how the crawl was started, so it works in the same shell and directory. Seeds are left
out, since a crawl resumes without them and standard input cannot be read twice; but a worker of a shared
crawl goes to its user's own servers only if they are named as seeds. A secret becomes a shell variable.
"""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rdfaspider.secrets import shell_assignment, shell_word

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_ASSIGNING = {"-s": "-s", "--set": "-s", "-a": "-a"}
# The settings by which `scrapy sparql` and others find the store of a crawl.
_OF_THE_STORE = ("JOBDIR", "STORE_")
# A query that says something of any crawl.
TYPES = "SELECT ?type (COUNT(*) AS ?n) { ?s a ?type } GROUP BY ?type ORDER BY DESC(?n)"


class Hint(NamedTuple):
    """A command, and the shell variables that must be set before it is pasted."""

    command: str
    variables: tuple[str, ...]

    def __str__(self) -> str:
        if not self.variables:
            return self.command
        names = ", ".join(f"${name}" for name in self.variables)
        return f"{self.command}\n    (first set {names}: secrets are not shown)"


class CommandLine:
    """The command line of this process, as far as it started a crawl.

    program   what to type for `scrapy`, "" if this is not a process that a user can start again by a
              command, such as a job of scrapyd or somebody's own script
    words     what follows the program
    """

    def __init__(self, argv: Sequence[str] | None = None) -> None:
        argv = sys.orig_argv if argv is None else argv
        self.program, self.words = _split(argv)

    def resume(self, *, with_seeds: bool = False) -> Hint | None:
        """Return the command that resumes the crawl, None if there is none."""
        if not self.program:
            return None
        variables: set[str] = set()
        shown = [self.program]
        for option, value in _options(self.words):
            if option in _ASSIGNING:
                name, _, text = value.partition("=")
                if (option, name) == ("-a", "seeds") and (not with_seeds or text == "-"):
                    continue
                word, needed = shell_assignment(name, text)
                variables |= needed
                shown += [_ASSIGNING[option], word]
            else:
                is_feed = option in _FEEDS
                shown.append("-o" if is_feed else option)
                if value:
                    place = _another(value) if is_feed else value
                    word, needed = shell_word(place, "OUTPUT_PASSWORD")
                    variables |= needed
                    shown.append(word)
        return Hint(" ".join(shown), tuple(sorted(variables)))

    def of_store(self, *words: str) -> Hint | None:
        """Return a command about the data of the crawl, such as `sparql QUERY`, None if there is none."""
        if not self.program:
            return None
        variables: set[str] = set()
        shown = [self.program, words[0]]
        for option, value in _options(self.words):
            name, _, text = value.partition("=")
            if _ASSIGNING.get(option) == "-s" and name.startswith(_OF_THE_STORE):
                word, needed = shell_assignment(name, text)
                variables |= needed
                shown += ["-s", word]
        return Hint(" ".join([*shown, *map(shlex.quote, words[1:])]), tuple(sorted(variables)))


def query_of(store: str) -> Hint:
    """Return the command that queries a store, for people in a project of their own."""
    word, variables = shell_assignment("STORE_URL", store)
    command = f"rdfaspider sparql -s {word} {shlex.quote(TYPES)}"
    return Hint(command, tuple(sorted(variables)))


def _another(name: str) -> str:
    """Return another name for a feed that must neither be overwritten nor appended to."""
    path, dot, suffix = name.rpartition(".")
    if not dot or suffix in ("jl", "jsonl", "jsonlines"):
        return name
    return f"{path}-resumed.{suffix}"


def _split(argv: Sequence[str]) -> tuple[str, list[str]]:
    """Return the program and what follows it, of a command line that begins with the interpreter."""
    for place, word in enumerate(argv[:-1]):
        following = list(argv[place + 1 :])
        if word == "-m" and following[0] in ("rdfaspider", "scrapy"):
            interpreter = _typed(argv[0])
            return f"{interpreter} -m {following[0]}", following[1:]
        if Path(word).name in ("scrapy", "rdfaspider") and "crawl" in following:
            return _typed(word), following
    return "", []


def _typed(program: str) -> str:
    """Return the shortest name of a program: by the search path, or below this directory."""
    path = Path(program)
    if (found := shutil.which(path.name)) and Path(found).absolute() == path.absolute():
        return path.name
    if path.is_absolute() and path.is_relative_to(Path.cwd()):
        path = path.relative_to(Path.cwd())
    return shlex.quote(str(path))


def _options(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each option with its value; a word that is neither comes as an option without one."""
    rest = iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        if word in _TAKING_A_VALUE:
            yield word, next(rest, "")
        elif word.startswith("--") and equals:
            yield (name, value) if name in _TAKING_A_VALUE else (shlex.quote(word), "")
        elif word[:2] in _TAKING_A_VALUE and not word.startswith("--"):
            yield word[:2], word[2:]
        else:
            yield shlex.quote(word), ""


_FEEDS = ("-o", "--output", "-O", "--overwrite-output")
_TAKING_A_VALUE = (
    *("-a", "-s", "--set", "-L", "--loglevel", "--logfile", "--pidfile", "--profile"),
    *("-o", "--output", "-O", "--overwrite-output", "-t", "--output-format"),
)

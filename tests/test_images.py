"""The images are named exactly, hold nothing by accident, and can be pinned by digest."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]

PROJECT = Path(__file__).parent.parent
DOCKERFILE = (PROJECT / "Dockerfile").read_text(encoding="utf-8")
DOCS = (PROJECT / "docs" / "dependencies.md").read_text(encoding="utf-8")
COMPOSE = (PROJECT / "compose.yaml").read_text(encoding="utf-8")
IMAGES = [
    *re.findall(r"^ARG \w+_IMAGE=(\S+)$", DOCKERFILE, re.MULTILINE),
    *re.findall(r"^ +image: (\S+)$", COMPOSE, re.MULTILINE),
]


def test_all_stages_start_from_one_image() -> None:
    assert set(re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)) == {"${PYTHON_IMAGE}"}


def test_all_images_are_known() -> None:
    assert len(IMAGES) == 1 + COMPOSE.count("image:")


@pytest.mark.parametrize("image", IMAGES)
def test_an_image_has_a_whole_version(image: str) -> None:
    assert re.fullmatch(r"[a-z0-9/-]+:\d+\.\d+\.\d+(-[a-z0-9.-]+)?(@sha256:[0-9a-f]{64})?", image)


@pytest.mark.parametrize("image", IMAGES)
def test_the_docs_say_how_an_image_is_pinned(image: str) -> None:
    tag, _, digest = image.partition("@")
    (row,) = re.findall(rf"^\| `{re.escape(tag)}` .*$", DOCS, re.MULTILINE)
    assert row.endswith("| digest |" if digest else "| tag |")


def test_the_crawler_does_not_run_as_root() -> None:
    (user,) = re.findall(r"^USER (\d+)$", DOCKERFILE.split("\nFROM ")[-1], re.MULTILINE)
    assert int(user) > 0
    assert f"--uid {user} " in DOCKERFILE


def test_the_context_holds_what_is_copied_and_nothing_else() -> None:
    """The first part of a path is what .dockerignore lets through."""
    lines = re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE)
    copied = {name.split("/")[0] for line in lines for name in line.split()}
    everything, *rest = [
        line
        for line in (PROJECT / ".dockerignore").read_text(encoding="utf-8").splitlines()
        if line and line[0] != "#"
    ]
    assert everything == "*"
    assert {line[1:] for line in rest if line[0] == "!"} == copied
    assert all((PROJECT / name).exists() for name in copied)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a copy of what names images."""
    for name in ("Dockerfile", "compose.yaml", "locks/digests.sh"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(PROJECT / name, tmp_path / name)
    return tmp_path


def pin(home: Path, answer: str) -> subprocess.CompletedProcess[str]:
    """Run digests.sh with a docker that answers the one question it is asked."""
    docker = home / "bin" / "docker"
    docker.parent.mkdir(exist_ok=True)
    docker.write_text(
        "#!/bin/sh\n"
        '[ "$1 $2 $3 $5 $6" = "buildx imagetools inspect --format {{.Manifest.Digest}}" ] || exit 64\n'
        f"{answer}\n"
    )
    docker.chmod(0o755)
    environment = os.environ | {"PATH": f"{docker.parent}:{os.environ['PATH']}"}
    command = ["sh", "locks/digests.sh"]
    return subprocess.run(
        command, cwd=home, env=environment, capture_output=True, text=True, timeout=30, check=False
    )


DIGEST = 'echo "sha256:$(printf %s "$4" | sha256sum | cut -d" " -f1)"'


def test_images_are_pinned_by_digest_and_pinned_again(home: Path) -> None:
    for _ in range(2):
        result = pin(home, DIGEST)
        assert result.returncode == 0, result.stderr
        tags = [image.partition("@")[0] for image in IMAGES]
        pinned = result.stdout.splitlines()
        assert sorted(line.partition("@")[0] for line in pinned) == sorted(tags)
        text = (home / "Dockerfile").read_text() + (home / "compose.yaml").read_text()
        assert all(re.search(rf"[= ]{re.escape(line)}$", text, re.MULTILINE) for line in pinned)
        assert text.count("@sha256:") == len(tags)


@pytest.mark.parametrize("answer", ["exit 1", "echo no such manifest"])
def test_without_a_digest_nothing_changes(home: Path, answer: str) -> None:
    result = pin(home, answer)
    assert result.returncode != 0
    assert (home / "Dockerfile").read_text(encoding="utf-8") == DOCKERFILE
    assert (home / "compose.yaml").read_text(encoding="utf-8") == COMPOSE


RECORDER = """#!/bin/sh
echo "$@" >> {directory}/said
exec sleep 60
"""


def test_each_crawler_of_compose_finds_its_directory_again(tmp_path: Path) -> None:
    compose = yaml.safe_load(COMPOSE)
    crawler = compose["services"]["crawler"]
    (volume,) = crawler["volumes"]
    name, _, place = volume.partition(":")
    assert name in compose["volumes"], "a volume without a name is lost by `down`"
    program = tmp_path / "rdfaspider"
    program.write_text(RECORDER.format(directory=tmp_path))
    program.chmod(0o755)
    (tmp_path / "crawls").mkdir()
    # As compose reads it, with the volume where it is on this machine.
    words = [word.replace("$$", "$") for word in crawler["entrypoint"]]
    command = [word.replace(place, str(tmp_path / "crawls")) for word in words]
    for _ in range(2):  # `up`, `down` and `up`
        (tmp_path / "said").unlink(missing_ok=True)
        replicas = [start(command, tmp_path, number) for number in range(3)]
        said = sorted((tmp_path / "said").read_text().splitlines())
        assert said == [f"crawl rdfa -s JOBDIR={tmp_path}/crawls/{n}" for n in (1, 2, 3)]
        for replica in replicas:
            replica.kill()
            replica.wait()


def start(command: list[str], directory: Path, number: int) -> subprocess.Popen[bytes]:
    """Start a crawler and wait until it has called its program."""
    said = directory / "said"
    path = f"{directory}:{os.environ['PATH']}"
    started = subprocess.Popen([*command, "crawl", "rdfa"], env={**os.environ, "PATH": path})
    end = time.monotonic() + 30
    while not said.exists() or len(said.read_text().splitlines()) <= number:
        assert time.monotonic() < end and started.poll() is None
        time.sleep(0.02)
    return started

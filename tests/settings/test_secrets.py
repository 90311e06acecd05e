"""Secrets from files and the environment."""

from __future__ import annotations

from pathlib import Path

import pytest
from scrapy.settings import Settings

from rdfaspider.settings.declarations import DECLARED, SECRETS
from rdfaspider.settings.secrets import read_secrets


def settings(**given: str) -> Settings:
    found = Settings()
    for name, setting in DECLARED.items():
        found.set(name, setting.default, "project")
    found.setdict(given, "cmdline")
    return found


@pytest.mark.parametrize("name", sorted(SECRETS))
def test_a_secret_is_read_from_a_file(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret").write_text("hunter2 \nsomething else\n")
    found = settings(**{f"{name}_FILE": str(tmp_path / "secret")})
    assert read_secrets(found) == []
    assert found[name] == "hunter2"


def test_or_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORE_PASSWORD", "hunter2")
    found = settings()
    assert read_secrets(found) == []
    assert found["STORE_PASSWORD"] == "hunter2"


def test_what_is_set_by_hand_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("STORE_PASSWORD", "from the environment")
    (tmp_path / "secret").write_text("from a file")
    found = settings(STORE_PASSWORD="by hand", STORE_PASSWORD_FILE=str(tmp_path / "secret"))
    read_secrets(found)
    assert found["STORE_PASSWORD"] == "by hand"
    found = settings(STORE_PASSWORD_FILE=str(tmp_path / "secret"))
    read_secrets(found)
    assert found["STORE_PASSWORD"] == "from a file"


@pytest.mark.parametrize(
    ("content", "reason"), [(None, "No such file"), (b"\n", "is empty"), (b"\xff\n", "not UTF-8")]
)
def test_a_file_that_holds_none_is_named(
    tmp_path: Path, content: bytes | None, reason: str
) -> None:
    if content is not None:
        (tmp_path / "secret").write_bytes(content)
    (fault,) = read_secrets(settings(STORE_TOKEN_FILE=str(tmp_path / "secret")))
    assert fault.startswith("STORE_TOKEN_FILE=")
    assert reason in fault

"""Secrets do not get into the log."""

from __future__ import annotations

import logging

from scrapy.settings import Settings

from rdfaspider.extensions.redaction import Redaction, secrets_in


def shown(redaction: Redaction, message: str, *arguments: object, error: bool = False) -> str:
    record = logging.LogRecord("x", logging.ERROR, __file__, 1, message, arguments, None)
    if error:
        try:
            raise ValueError("cannot reach http://me:hunter2@a.test/")
        except ValueError as raised:
            record.exc_info = (ValueError, raised, raised.__traceback__)
    assert redaction.filter(record)
    return logging.Formatter("%(message)s").format(record)


def test_secrets_in_messages_arguments_and_tracebacks_are_hidden() -> None:
    redaction = Redaction(["hunter2"])
    assert shown(redaction, "the password is hunter2") == "the password is …"
    assert shown(redaction, "the password is %s", "hunter2") == "the password is …"
    text = shown(redaction, "failed", error=True)
    assert "ValueError: cannot reach http://…@a.test/" in text
    assert "hunter2" not in text


def test_nothing_else_is_changed() -> None:
    assert shown(Redaction(["abc"]), "abc %d%%", 5) == "abc 5%", "too short to be told from words"
    assert shown(Redaction([]), "%s", "x") == "x"


def test_a_password_of_any_url_is_hidden() -> None:
    assert shown(Redaction([]), "<GET http://bob:hunter2@a.test/@x>") == "<GET http://…@a.test/@x>"


def test_what_would_steer_a_terminal_is_written_as_escapes() -> None:
    assert shown(Redaction([]), "title %s\nsecond line", "\x1b]0;owned\x07") == (
        "title \\x1b]0;owned\\x07\nsecond line"
    )


def test_secrets_are_found_wherever_settings_have_them(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setenv("http_proxy", "http://me:in-proxy@127.0.0.1:1/")
    settings = Settings(
        {
            "STORE_PASSWORD": "in-password",
            "STORE_TOKEN": "",
            "STORE_HEADERS": '{"X-Key": "in-header"}',
            "FRONTIER_URL": "redis://:in-url@h/0",
            "FEEDS": {"ftp://me:in-feed@h/x.jl": {"format": "jl"}},
            "RETRY_TIMES": 3,
        }
    )
    found = secrets_in(settings)
    assert {"in-password", "in-header", "in-url", "in-feed", "in-proxy"} <= found
    assert "" not in found

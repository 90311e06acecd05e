from __future__ import annotations

import pytest
from scrapy.exceptions import UsageError
from scrapy.settings import Settings

from rdfaspider.settings.identity import introduce


def settings(contact: str = "") -> Settings:
    made = Settings({"BOT_NAME": "rdfaspider", "USER_AGENT": "rdfaspider/1"}, priority="project")
    made.set("POLITENESS_CONTACT", contact)
    return made


def test_a_contact_is_part_of_the_agent() -> None:
    made = settings("mailto:me@example.org")
    introduce(made, ["https://www.w3.org/"])
    assert made["USER_AGENT"].endswith(" (+mailto:me@example.org)")
    assert made["USER_AGENT"].startswith("rdfaspider/")


def test_strangers_are_not_asked_without_a_contact() -> None:
    with pytest.raises(
        UsageError, match=r"who crawls https://www\.w3\.org/: set POLITENESS_CONTACT"
    ):
        introduce(settings(), ["http://localhost/", "https://www.w3.org/"])


@pytest.mark.parametrize(
    "seed",
    [
        "http://127.0.0.1:8000/",
        "http://[::1]/",
        "http://localhost/",
        "http://a.localhost/",
        "http://w0.site.test/",
        "http://www.example.org/",
    ],
)
def test_what_is_nobodys_may_be_asked(seed: str) -> None:
    introduce(settings(), [seed])


def test_a_user_agent_of_ones_own_is_an_introduction_too() -> None:
    made = settings()
    made.set("USER_AGENT", "mine/1 (+https://me.example/)", priority="cmdline")
    introduce(made, ["https://www.w3.org/"])
    assert made["USER_AGENT"] == "mine/1 (+https://me.example/)"

"""Names that are no settings, what a crawl needs on disk, and the add-on that checks both."""

from __future__ import annotations

from pathlib import Path

import pytest
from scrapy.exceptions import UsageError
from scrapy.settings import Settings

from rdfaspider.settings.addon import SettingsCheck
from rdfaspider.settings.check import check, find_faults
from rdfaspider.settings.places import find_missing


def project(**given: object) -> Settings:
    """Return the project's settings with some given on the command line."""
    settings = Settings()
    settings.setmodule("rdfaspider.settings", "project")
    settings.setdict(given, "cmdline")
    return settings


def test_the_project_itself_has_no_fault() -> None:
    assert list(find_faults(project())) == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("FRONTIER_RETRYS", "did you mean FRONTIER_RETRIES?"),
        ("EXTRACT_MAX_LINK", "did you mean EXTRACT_MAX_LINKS?"),
        ("POLITENES_DELAY", "did you mean POLITENESS_DELAY?"),
        ("CLOSESPIDER_PAGE_COUNT", "did you mean CLOSESPIDER_PAGECOUNT?"),
        ("JOB_DIR", "did you mean JOBDIR?"),
        ("STORE_XYZZY_QUUX", "docs/settings.md"),
    ],
)
def test_a_misspelt_name_is_told_the_nearest_one(name: str, words: str) -> None:
    (fault,) = find_faults(project(**{name: "geheim"}))
    assert fault.startswith(f"{name} is not a setting: ")
    assert words in fault
    assert "geheim" not in fault


def test_other_settings_of_a_project_are_its_own_business() -> None:
    settings = project(MY_PLUGIN_COLOUR="red")
    settings.set("POLITENES_DELAY", 3, "project")
    assert list(find_faults(settings)) == []
    settings.set("FRONTIER_RETRYS", 3, "spider")
    with pytest.raises(UsageError, match="FRONTIER_RETRYS"):
        check(settings)


def test_all_faults_are_told_at_once() -> None:
    with pytest.raises(UsageError) as error:
        check(project(FRONTIER_RETRIES="x", POLITENESS_DELAY="-1", EXTRACT_ROL="1"))
    assert len(str(error.value).splitlines()) == 3


def test_the_add_on_gives_types_and_defaults(tmp_path: Path) -> None:
    settings = Settings({"POLITENESS_DELAY": "2.5", "JOBDIR": str(tmp_path / "crawl")})
    SettingsCheck.update_pre_crawler_settings(settings)
    assert settings["POLITENESS_DELAY"] == 2.5
    assert settings.getpriority("POLITENESS_DELAY") == 20
    assert settings["POLITENESS_AT_ONCE"] == 1
    assert settings.getpriority("POLITENESS_AT_ONCE") == 0
    settings.set("URLS_TRANSFORMS", '[["/amp/$", "/"]]', "spider")
    SettingsCheck().update_settings(settings)
    assert settings["URLS_TRANSFORMS"] == [["/amp/$", "/"]]
    assert not (tmp_path / "crawl").exists()


def test_the_add_on_ends_the_process_with_the_sentences() -> None:
    with pytest.raises(SystemExit) as end:
        SettingsCheck.update_pre_crawler_settings(project(FRONTIER_RETRIES="x"))
    assert str(end.value).startswith("scrapy: FRONTIER_RETRIES=x is wrong")


def test_directories_that_can_be_written_or_made(tmp_path: Path) -> None:
    for jobdir in (tmp_path, tmp_path / "new", tmp_path / "new" / "er"):
        assert list(find_missing(project(JOBDIR=str(jobdir)))) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("setting", "place", "words"),
    [
        ("JOBDIR", "file", "it is not a directory"),
        ("JOBDIR", "file/below/it", "file is not a directory"),
        ("JOBDIR", "broken", "it is not a directory"),
        ("JOBDIR", "x" * 300, "it cannot be used (File name too long)"),
        ("STORE_URL", "file", "it is not a directory"),
        ("STORE_URL", "nquads:file", "is not a directory"),
        ("FRONTIER_URL", "file/frontier", "file is not a directory"),
    ],
)
def test_directories_that_cannot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str, place: str, words: str
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "broken").symlink_to("nowhere/at/all")
    monkeypatch.chdir(tmp_path)
    (fault,) = find_missing(project(**{setting: place}))
    assert fault.startswith(f"{setting}={place} is wrong: ")
    assert words in fault


def test_a_directory_that_nobody_can_write_to() -> None:
    for place in ("/proc", "/proc/crawl"):  # not even root
        (fault,) = find_missing(project(JOBDIR=place))
        assert "cannot be written (" in fault


def test_the_topics_file(tmp_path: Path) -> None:
    here = {"JOBDIR": str(tmp_path)}
    (fault,) = find_missing(project(FRONTIER_ORDER="topics", **here))
    assert fault == "FRONTIER_ORDER=topics needs a topics file: -s FRONTIER_TOPICS=FILE."
    path = tmp_path / "topics.toml"
    (fault,) = find_missing(project(FRONTIER_TOPICS=str(path), **here))
    expected = f"FRONTIER_TOPICS is wrong: {path} cannot be read (No such file or directory)."
    assert fault == expected
    path.write_bytes(b"\xff")
    (fault,) = find_missing(project(FRONTIER_TOPICS=str(path), **here))
    assert "is not in UTF-8" in fault
    path.write_text("[food]\n")
    (fault,) = find_missing(project(FRONTIER_TOPICS=str(path), **here))
    assert "line 1" in fault
    path.write_text('[food]\nkeywords = ["bread"]\n')
    assert list(find_missing(project(FRONTIER_TOPICS=str(path), **here))) == []

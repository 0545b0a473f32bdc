"""Kept comparisons: under a title, with a link, changed by their author or an operator."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import config, store
from bench.config import Config
from bench.errors import BenchError
from bench.kept import comparisons
from bench.kept.comparisons import Comparison
from bench.people import access, audit
from bench.people.access import Actor
from bench.shown import view
from bench.shown.view import View

MEI = Actor(who="mei@example.org", role="viewer")
LIN = Actor(who="lin@example.org", role="viewer")
OPERATOR = access.shell("op")


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    monkeypatch.setenv("SPARK_COMPARE_VAR", str(tmp_path))
    return config.read()


def kept(settings: Config, actor: Actor = MEI, title: str = "gpt-oss against Qwen") -> Comparison:
    made = comparisons.keep(settings, actor, title, "notes", ["a", "b"], View(base="b"))
    with store.opened(settings.database) as db:
        found = comparisons.load(db, made)
    assert found is not None
    return found


def code(fault: pytest.ExceptionInfo[BenchError]) -> str:
    return fault.value.fault.code


def test_what_was_kept_comes_back_with_its_view(settings: Config) -> None:
    found = kept(settings)
    assert (found.title, found.notes, found.results) == (
        "gpt-oss against Qwen",
        "notes",
        ("a", "b"),
    )
    assert found.view == View(base="b") and found.author == MEI.who
    with store.opened(settings.database) as db:
        assert comparisons.every(db) == [found]
        assert comparisons.load(db, "nothing") is None
        assert [entry.who for entry in audit.entries(db)] == [MEI.who]


def test_its_author_and_operators_change_it_and_nobody_else(settings: Config) -> None:
    found = kept(settings)
    with pytest.raises(BenchError) as fault:
        comparisons.change(settings, LIN, found, "mine now", "")
    assert code(fault) == "comparison_author"
    with pytest.raises(BenchError):
        comparisons.delete(settings, LIN, found)
    comparisons.change(settings, MEI, found, "better title", "")
    comparisons.change(settings, OPERATOR, found, "best title", "")
    with store.opened(settings.database) as db:
        assert [one.title for one in comparisons.every(db)] == ["best title"]
    comparisons.delete(settings, OPERATOR, found)
    with store.opened(settings.database) as db:
        assert comparisons.every(db) == []


def test_somebody_without_a_name_keeps_nothing(settings: Config) -> None:
    with pytest.raises(BenchError) as fault:
        kept(settings, Actor(who="", role="viewer"))
    assert code(fault) == "comparison_nobody"
    with pytest.raises(BenchError):
        kept(settings, Actor(who="x", role="nobody"))


@pytest.mark.parametrize("title", ["", "  \n ", "t" * 121])
def test_a_title_that_is_none_is_refused_in_a_sentence(settings: Config, title: str) -> None:
    with pytest.raises(BenchError) as fault:
        kept(settings, title=title)
    assert code(fault) == "comparison_title" and "120" in str(fault.value)


@pytest.mark.parametrize("results", [[], ["a"], list("abcdefghi")])
def test_it_holds_two_to_eight_results(settings: Config, results: list[str]) -> None:
    with pytest.raises(BenchError) as fault:
        comparisons.keep(settings, MEI, "title", "", results, View())
    assert code(fault) == "comparison_results"


def test_a_view_travels_in_a_link_and_what_is_unknown_is_as_usual() -> None:
    seen = View(base="b", chart="pareto", scale="log")
    assert view.read(seen.query()) == seen
    assert View().query() == {}
    assert view.read({"chart": "<script>", "scale": "cubic", "base": ""}) == View()
    assert view.read({"scale": "linear"}, seen) == View(base="b", chart="pareto")
    assert seen.of(["a", "c"]).base is None


def test_a_name_that_anybody_may_choose_is_no_author(settings: Config) -> None:
    found = kept(settings, access.shell("mei"))
    with pytest.raises(BenchError) as fault:
        comparisons.change(settings, Actor(who=found.author, role="viewer"), found, "x", "")
    assert code(fault) == "comparison_author"


def test_one_that_was_deleted_meanwhile_is_told_and_not_noted(settings: Config) -> None:
    found = kept(settings)
    comparisons.delete(settings, MEI, found)
    with pytest.raises(BenchError) as fault:
        comparisons.change(settings, MEI, found, "too late", "")
    assert code(fault) == "comparison_gone"
    with store.opened(settings.database) as db:
        assert len(audit.entries(db)) == 2

"""The Runs page: its filters are in its address, and its menus do only what a visitor may."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from bench import store
from bench.config import read
from bench.errors import BenchError
from bench.kept import labels
from bench.people import actions, audit
from bench.people.access import Actor
from bench.running import lock
from bench.text import words
from pages.elements import shelf
from tests.test_pages import ids, text, var, visit

EN = words("en")
__all__ = ["ids", "var"]  # fixtures


def choose(at: AppTest, run: str, what: str) -> AppTest:
    at.menu_button(key=f"menu-{run}").click(what).run()
    assert not at.exception, at.exception
    return at


def label(run: str) -> labels.Label:
    with store.opened(read().database) as db:
        return labels.of(db, [run]).get(run, labels.PLAIN)


def test_a_search_goes_into_the_address_and_narrows_the_list(ids: dict[str, str]) -> None:
    at = visit("runs.py")
    assert EN("shelf.found", n=4) in text(at)
    (box,) = (one for one in at.text_input if str(one.key).startswith("shelf-text"))
    box.set_value("gemma").run()
    assert at.query_params["text"] == "gemma"
    assert EN("shelf.found_one") in text(at)
    assert EN("shelf.nothing") in text(visit("runs.py", text="no such run"))


@pytest.mark.parametrize("language", ["en", "zh-TW"])
def test_a_link_narrows_the_list_in_any_language(ids: dict[str, str], language: str) -> None:
    at = visit("runs.py", language, state="failed")
    t = words(language)
    assert t("shelf.found_one") in text(at) and "Qwen3.8-27B" in text(at)


def test_a_star_and_its_end(ids: dict[str, str]) -> None:
    run = ids["fast"]
    at = choose(visit("runs.py"), run, "star")
    assert label(run).star and EN("shelf.starred") in text(at)
    choose(at, run, "unstar")
    assert not label(run).star


def test_a_deleted_run_can_be_brought_back(ids: dict[str, str]) -> None:
    at = choose(visit("runs.py"), ids["fast"], "delete")
    assert EN("shelf.found", n=3) in text(at)
    assert "was deleted" in text(at)
    next(one for one in at.button if one.label == EN("shelf.undo")).click().run()
    assert EN("shelf.found", n=4) in text(at)
    with store.opened(read().database) as db:
        assert [entry.detail["what"] for entry in audit.entries(db)] == ["restore", "delete"]


def test_a_link_to_a_deleted_run_says_so(ids: dict[str, str]) -> None:
    with store.opened(read().database) as db:
        labels.delete(db, ids["fast"])
    assert EN("shelf.was_deleted", days=30) in text(visit("run.py", run=ids["fast"]))
    at = visit("compare.py", run=[ids["fast"], ids["good"]])
    assert ids["fast"] in "\n".join(one.value for one in at.warning)


def test_the_same_again_is_a_new_run_with_prompts_of_its_own(
    ids: dict[str, str], var: Path
) -> None:
    actor = Actor(who="mei@example.org", role="operator")
    with lock.held(read().lock):
        new = actions.again(read(), actor, ids["fast"])
    with store.opened(read().database) as db:
        first, second = store.load(db, [ids["fast"], new])
    assert second.state == "queued" and second.owner == actor.who
    assert second.plan.workload == first.plan.workload
    assert second.plan.recipe == first.plan.recipe
    assert second.plan.seed != first.plan.seed
    with pytest.raises(BenchError) as fault:
        actions.again(read(), actor, "nothing")
    assert fault.value.fault.code == "run_gone"


def test_a_viewer_has_no_menu_and_a_crafted_choice_does_nothing(
    ids: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    viewer = Actor(who="", role="viewer", why="passcode")
    monkeypatch.setattr(shelf.who, "visitor", lambda settings: viewer)
    assert not visit("runs.py").get("menu_button")
    with store.opened(read().database) as db:
        (run,) = store.load(db, [ids["fast"]])
    for what in shelf.NEEDED:
        with pytest.raises(BenchError) as fault:
            shelf._do(read(), run, what)
        assert fault.value.fault.code == "access.why.passcode"
    assert label(ids["fast"]) == labels.PLAIN


def test_html_in_a_tag_or_a_name_is_text(ids: dict[str, str]) -> None:
    with store.opened(read().database) as db:
        labels.describe(db, ids["fast"], "<b>x</b> =1+1", "![a](http://x.test/y)", ["<i>t</i>"])
    at: AppTest = visit("runs.py")
    shown = [one.value for kind in ("markdown", "caption") for one in getattr(at, kind)]
    assert not any("![a](" in one or "<i>t" in one.replace("\\<", "") for one in shown)
    assert "![a](http://x.test/y)" in text(at)


def test_the_same_over_time_stands_on_a_runs_page(ids: dict[str, str]) -> None:
    assert EN("trend.heading") not in text(visit("run.py", run=ids["good"]))
    with store.opened(read().database) as db:
        store.enter(db, ids["interrupted"], "done")
    assert EN("trend.heading") in text(visit("run.py", run=ids["fast"]))

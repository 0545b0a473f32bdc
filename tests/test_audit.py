"""Who did what: written with what was done, or not at all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from bench import __main__ as command
from bench import store
from bench.config import ROOT, Config
from bench.errors import BenchError
from bench.people import actions, audit
from bench.people.access import Actor
from bench.running import lock
from bench.text import LANGUAGES, words
from tests import examples

WANG = Actor(who="wang@example.com", role="operator")
VIEWER = Actor(who="", role="viewer", why="passcode")
PLAN = examples.plan("smollm2-135m", "SmolLM2 135M")


def deeds(config: Config) -> list[tuple[str, str, str | None]]:
    with store.opened(config.database) as db:
        return [(entry.who, entry.action, entry.run) for entry in audit.entries(db)]


def test_starting_and_stopping_are_noted_with_their_run(config: Config) -> None:
    with lock.held(config.lock):
        run = actions.launch(config, WANG, PLAN)
        actions.cancel(config, WANG, run)
    assert deeds(config) == [(WANG.who, "cancel", run), (WANG.who, "launch", run)]
    with store.opened(config.database) as db:
        (kept,) = store.load(db, [run])
        assert (kept.owner, kept.state) == (WANG.who, "cancelled")
        assert audit.entries(db)[-1].detail == {"title": PLAN.title}


def test_a_second_click_is_one_deed(config: Config) -> None:
    with lock.held(config.lock):
        runs = {actions.launch(config, WANG, PLAN, "token") for _ in range(2)}
    assert len(runs) == 1 and len(deeds(config)) == 1


def test_who_may_not_does_nothing_and_leaves_no_row(config: Config) -> None:
    with lock.held(config.lock):
        run = actions.launch(config, WANG, PLAN)
        before = deeds(config)
        for act in (
            lambda: actions.launch(config, VIEWER, PLAN),
            lambda: actions.cancel(config, VIEWER, run),
        ):
            with pytest.raises(BenchError) as refused:
                act()
            assert refused.value.fault.code == "access.why.passcode"
    assert deeds(config) == before
    with store.opened(config.database) as db:
        assert [one.state for one in store.runs(db)] == ["queued"]


def test_a_deed_that_fails_halfway_is_undone_with_its_row(config: Config) -> None:
    with lock.held(config.lock):
        run = actions.launch(config, WANG, PLAN)
    with pytest.raises(ZeroDivisionError), actions.acting(config, WANG, "edit", run) as db:
        store.learn(db, run, {"slots": 1})
        raise ZeroDivisionError
    assert [deed[1] for deed in deeds(config)] == ["launch"]
    with store.opened(config.database) as db:
        assert store.load(db, [run])[0].facts == {}


def test_a_row_that_cannot_be_written_undoes_the_deed(config: Config) -> None:
    with store.opened(config.database) as db:
        run = examples.live(db)
        db.execute(
            "create trigger full before insert on audit begin select raise(abort, 'full'); end"
        )
    with pytest.raises(Exception, match="full"):
        actions.cancel(config, WANG, run)
    with store.opened(config.database) as db:
        assert not store.cancelling(db, run)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_and_the_command_say_who_did_what(
    config: Config,
    language: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("SPARK_COMPARE_VAR", str(config.var))
    monkeypatch.setenv("LANG", "zh_TW.UTF-8" if language == "zh-TW" else "C.UTF-8")
    t = words(language)
    with lock.held(config.lock):
        run = actions.launch(config, WANG, PLAN)
        actions.cancel(config, Actor(who="local", role="operator"), run)
    at = AppTest.from_file(str(ROOT / "pages" / "router.py"), default_timeout=60)
    at.context = {"locale": language, "url": "http://bench.test/"}
    at.run()
    at.switch_page("audit.py").run()
    assert not at.exception
    shown = at.dataframe[0].value
    assert list(shown[t("audit.who")]) == [t("access.who.local"), WANG.who]
    assert list(shown[t("audit.run")]) == [run, run]
    assert command.main(["audit", "--run", run]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert WANG.who in first and t("access.did.launch") in first
    assert t("access.who.local") in second and t("access.did.cancel") in second
    assert command.main(["audit", "--run", "other"]) == 0
    assert capsys.readouterr().out == ""
    assert command.main(["audit", "--json"]) == 0
    assert [json.loads(line)["action"] for line in capsys.readouterr().out.splitlines()] == [
        "launch",
        "cancel",
    ]


def test_a_run_that_was_deleted_keeps_its_rows(config: Config) -> None:
    with lock.held(config.lock):
        run = actions.launch(config, WANG, PLAN)
    with actions.acting(config, WANG, "delete", run) as db:
        db.execute("delete from runs where id = ?", [run])
    assert deeds(config) == [(WANG.who, "delete", run), (WANG.who, "launch", run)]


def test_runs_from_a_shell_are_noted_too(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_COMPARE_VAR", str(config.var))
    monkeypatch.setenv("SPARK_COMPARE_START_WORKER", "0")
    monkeypatch.setenv("USER", "mei")
    asked = ["run", "--model", "smollm2-135m", "--engine", "llama.cpp-local"]
    with lock.held(config.lock):
        assert command.main([*asked, "--workload", "demo-1", "--no-wait"]) == 0
        ((who, action, run),) = deeds(config)
        assert (who, action) == ("shell:mei", "launch")
        assert command.main(["cancel", str(run)]) == 0
    assert deeds(config)[0] == ("shell:mei", "cancel", run)


def test_a_name_in_the_log_is_shown_as_it_is(tmp_path: Path) -> None:
    t = words("en")
    assert audit.name("<b>x</b>@example.com", t) == "<b>x</b>@example.com"
    assert audit.name("", t) == t("access.who.unknown")

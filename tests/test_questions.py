"""A team's own questions: added on a page, kept in versions, chosen for a run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from bench import planning, store
from bench.catalogue import Catalogue
from bench.chinese import own
from bench.config import Config, read
from bench.errors import BenchError
from bench.kept import questions
from bench.people import audit
from bench.running import lock
from bench.text import LANGUAGES, words
from pages.elements import who
from tests.test_pages import text, visit

CSV = own.example()


@pytest.fixture
def var(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SPARK_COMPARE_VAR", str(tmp_path))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    return tmp_path


def add(name: str, content: bytes, locale: str = "en") -> AppTest:
    at = visit("questions.py", locale)
    at.text_input[0].set_value(name)
    at.file_uploader[0].set_value(("own.csv", content, "text/csv"))
    return at.button(key="save-questions").click().run()


def kept(var: Path) -> list[questions.QuestionSet]:
    with store.opened(var / "bench.db") as db:
        return questions.every(db)


def test_a_file_becomes_a_set_that_is_kept_once(var: Path) -> None:
    at = add("office", CSV.encode("utf-8-sig"))
    (one,) = kept(var)
    assert one.id.startswith("office-") and len(one.prompts) == 2
    assert at.success[0].value.startswith("Saved as office")
    add("office", CSV.encode("utf-8-sig"))
    assert len(kept(var)) == 1
    add("office", CSV.encode() + "再一題。,,,\n".encode())
    newer, older = kept(var)
    assert newer.id != older.id == one.id, "changed questions are another version"
    with store.opened(var / "bench.db") as db:
        assert audit.entries(db)[0].detail == {"questions": newer.id}


def test_a_set_shows_what_is_asked_and_checked_and_can_be_removed(var: Path) -> None:
    add("office", CSV.encode())
    (one,) = kept(var)
    at = visit("questions.py", "zh-TW")
    assert one.id in text(at) and "2 題" in text(at)
    row = at.table[0].value.iloc[0]
    assert list(row)[2].replace("\\", "") == "items=3; terms=主管"
    at.button(key=f"remove-{one.id}").click().run()
    assert kept(var) == []


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("name", "content", "code", "fields"),
    [
        ("a", b"question,colour\nx,y\n", "prompts_columns",
         {"wanted": "text, kind, checks, why", "got": "question, colour"}),
        ("a", b"", "prompts_columns", {"wanted": "text, kind, checks, why", "got": "–"}),
        ("a", b"text\n", "prompts_count", {"n": 0, "most": 200}),
        ("a", b"text\nx\n" * 1 + b"x\n" * 200, "prompts_count", {"n": 201, "most": 200}),
        ("a", "text\n請".encode("big5"), "prompts_encoding", {}),
        ("", b"text\nx\n", "prompts_name", {}),
        ("../a", b"text\nx\n", "prompts_name", {}),
        ("a", b'text,checks\n"x","items=many"\n', "prompts_row",
         {"line": 2, "problem": "items=many"}),
    ],
)  # fmt: skip
def test_a_faulty_file_is_a_sentence_and_keeps_nothing(
    var: Path, language: str, name: str, content: bytes, code: str, fields: dict[str, str | int]
) -> None:
    at = add(name, content, language)
    said = at.error[0].value.replace("\\", "")
    assert said == words(language)(f"errors.{code}", **fields)
    assert kept(var) == []


def test_a_file_of_a_spreadsheet_in_utf_16_is_read() -> None:
    assert questions.decoded(CSV.encode("utf-16")) == CSV


def test_a_cell_beyond_all_measure_is_a_sentence() -> None:
    with pytest.raises(BenchError, match="Line 2"):
        questions.parse("a", "text\n" + "x" * 200_000)


def test_a_form_is_read_as_a_file_would_be() -> None:
    rows = [
        {"text": "請列三點。", "kind": "內部", "checks": "items=3", "why": None},
        {"text": "", "kind": "", "checks": "", "why": ""},
    ]
    (one,) = questions.parse("form", questions.as_csv(rows))
    assert (one.text, one.kind, one.checks) == ("請列三點。", "內部", {"items": 3})


def test_an_empty_form_says_that_a_set_needs_a_question(var: Path) -> None:
    at = visit("questions.py")
    at.text_input[0].set_value("office")
    at.button(key="save-questions").click().run()
    assert at.error[0].value.startswith("A set has 1 to 200 questions")


def test_the_page_is_closed_to_viewers(var: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(who, "here", lambda: False)
    at = visit("questions.py")
    assert len(at.error) == 1 and not at.file_uploader


def test_a_run_asks_the_chosen_set_in_place_of_the_workloads(var: Path) -> None:
    add("office", CSV.encode())
    (one,) = kept(var)
    with lock.held(read(os.environ).lock):  # nobody works on it
        at = visit("launch.py")
        choice = next(b for b in at.selectbox if b.key and b.key.startswith("questions-"))
        choice.set_value(one.id).run()
        at.button(key="start").click().run()
    with store.opened(var / "bench.db") as db:
        (run,) = store.runs(db)
    assert run.plan.prompts == one.prompts
    assert run.plan.workload.answers == tuple(prompt.id for prompt in one.prompts)
    assert run.workload == "demo-1", "speed and load are measured as before"


def test_questions_that_do_not_fit_the_context_are_refused(
    known: Catalogue, config: Config
) -> None:
    plan = planning.plan_for(
        known, config, engine="llama.cpp-local", model="smollm2-135m", workload="demo-1"
    )
    long = questions.parse("long", "text\n" + "長" * 2_000)
    with pytest.raises(BenchError) as refused:
        planning.asking(plan, long)
    assert refused.value.fault.code == "context_too_small"
    assert planning.asking(plan, questions.parse("a", CSV)).prompts[0].kind == "內部"


def test_an_unknown_set_is_a_sentence(var: Path) -> None:
    with store.opened(var / "bench.db") as db, pytest.raises(BenchError, match="no set"):
        questions.load(db, "nope")

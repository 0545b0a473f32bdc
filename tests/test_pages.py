"""Each page in each language, through the router, as a visitor meets it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from streamlit.testing.v1 import AppTest

from bench import store
from bench.config import ROOT, read
from bench.running import lock
from bench.text import LANGUAGES, words
from tests import examples

PAGES = ("launch.py", "runs.py", "run.py", "compare.py", "chinese.py")
Visit = Callable[..., AppTest]


@pytest.fixture
def var(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty installation in which no worker starts."""
    monkeypatch.setenv("SPARK_COMPARE_VAR", str(tmp_path))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    return tmp_path


@pytest.fixture
def ids(var: Path) -> dict[str, str]:
    return examples.fill(var / "bench.db")


def visit(page: str | None = None, locale: str = "en-US", **query: str | list[str]) -> AppTest:
    at = AppTest.from_file(str(ROOT / "pages" / "router.py"), default_timeout=60)
    at.context = {"locale": locale, "url": "http://bench.test/compare"}
    at.run()
    if page:
        at.query_params.update(query)
        at.switch_page(page).run()
    assert not at.exception, at.exception
    return at


def text(at: AppTest) -> str:
    """Everything a reader sees, Markdown escapes taken away."""
    kinds = ("title", "header", "subheader", "markdown", "caption", "info", "warning", "error")
    more = ("text", "code", "metric", "expander", "button")
    found = [element for kind in (*kinds, *more) for element in getattr(at, kind)]
    words = [str(getattr(one, "value", "")) + str(getattr(one, "label", "")) for one in found]
    words += [one.proto.label for one in at.get("page_link")]
    return unescaped("\n".join(words))


def unescaped(text: str) -> str:
    return re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", text)


def progress(at: AppTest) -> str:
    """What the progress bars say."""
    return unescaped(" ".join(one.proto.text for one in at.get("progress")))


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("locale", ["en-US", "zh-TW"])
def test_an_empty_installation_shows_what_to_do_on_every_page(
    var: Path, page: str, locale: str
) -> None:
    at = visit(page, locale)
    assert at.title[0].value == visit_title(page, locale)
    assert len(text(at)) > 40


def visit_title(page: str, locale: str) -> str:
    titles = {"launch.py": "launch.title", "run.py": "nav.run", "chinese.py": "zh.title"}
    key = titles.get(page, f"{page.removesuffix('.py')}.title")
    return words("zh-TW" if locale == "zh-TW" else "en")(key)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", ["fast", "good", "failed", "interrupted", "live", "queued"])
def test_a_run_is_shown_in_every_state(ids: dict[str, str], name: str, language: str) -> None:
    at = visit("run.py", language, run=ids[name])
    t = words(language)
    shown = text(at)
    live = name in ("live", "queued")
    assert (t("runs.cancel") in shown) is live
    assert (t("errors.disk_full") in shown) is (name == "failed")
    assert (t("run.stopped.interrupted") in shown) is (name == "interrupted")
    assert (t("numbers.writing.label") in shown) is (name not in ("failed", "queued"))


def test_a_run_begins_with_a_sentence(ids: dict[str, str]) -> None:
    assert "people can use it at once" in text(visit("run.py", run=ids["good"]))


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_list_of_runs_shows_live_ones_first_with_their_state(
    ids: dict[str, str], language: str
) -> None:
    t = words(language)
    at = visit("runs.py", language)
    assert [one.value for one in at.subheader] == [t("runs.now"), t("runs.before")]
    assert t("live.people", people=4) in progress(at)
    assert t("live.queued_one") in progress(at)


def test_two_ticked_runs_are_compared(ids: dict[str, str]) -> None:
    at = visit("runs.py")
    assert at.button(key="compare").disabled
    for name in ("fast", "good"):
        at.checkbox(key=f"pick-{ids[name]}").check()
    at.run()
    assert at.button(key="compare").label == "Compare 2 runs"
    at.button(key="compare").click().run()
    assert at.title[0].value == "Compare"
    assert set(at.query_params["run"]) == {ids["fast"], ids["good"]}


def test_stopping_a_run_asks_the_worker_to_stop_it(ids: dict[str, str], var: Path) -> None:
    at = visit("run.py", run=ids["live"])
    at.button(key=f"cancel-{ids['live']}").click().run()
    with store.opened(var / "bench.db") as db:
        assert store.cancelling(db, ids["live"])
    assert words("en")("live.cancelling") in progress(at)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_comparison_says_who_is_faster_before_it_shows_charts(
    ids: dict[str, str], language: str
) -> None:
    at = visit("compare.py", language, run=[ids["good"], ids["fast"]])
    heads = [one.value for one in at.markdown if one.value.startswith("#### ")]
    assert any("SmolLM2 135M" in head and "%" in head for head in heads)
    assert len(at.get("vega_lite_chart")) == 1, "the others are drawn on request"


def test_published_figures_are_marked_and_have_no_winner(ids: dict[str, str]) -> None:
    at = visit("compare.py", run=[ids["good"], "ironman-2026-day9-vllm"])
    shown = text(at)
    assert "Published, not measured here" in shown
    assert "without a winner" in shown
    assert "ivanusto" in shown


@pytest.mark.parametrize("page", ["run.py", "compare.py", "chinese.py"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_an_unknown_run_in_a_share_link_is_a_sentence(
    ids: dict[str, str], page: str, language: str
) -> None:
    at = visit(page, language, run=["<b>nope</b>" + "x" * 10_000])
    assert "<b>nope</b>" in text(at)
    assert len(text(at)) < 5_000


def test_an_unknown_run_leaves_the_known_ones_of_its_link(ids: dict[str, str]) -> None:
    at = visit("compare.py", run=["gone", ids["good"], ids["fast"]])
    assert "gone" in at.warning[0].value
    assert at.multiselect[0].value == [ids["good"], ids["fast"]]


def test_answers_stand_beside_each_other_with_mainland_characters_marked(
    ids: dict[str, str],
) -> None:
    at = visit("chinese.py", "zh-TW", run=[ids["fast"], ids["good"]])
    answers = [one.proto.body for one in at.get("html") if 'class="answer' in one.proto.body]
    poor = next(one for one in answers if "缓" in one)
    assert '<mark class="error" tabindex="0"' in poor and "簡體字" in poor
    assert all("<mark" not in one for one in answers if "便利商店" in one)


HOSTILE = "<script>alert(1)</script> **bold** $x^2$ :red[hot] [link](http://evil.test) `code`"


@pytest.mark.parametrize("page", PAGES[1:])
def test_a_model_name_cannot_become_formatting(var: Path, page: str) -> None:
    with store.opened(var / "bench.db") as db:
        run = examples.done(db, "smollm2-135m", HOSTILE, 100, dict.fromkeys(examples.GOOD, HOSTILE))
        other = examples.done(db, "gemma3-270m", "Gemma", 60, examples.GOOD)
    at = visit(page, run=[other, run])
    rendered = [
        str(getattr(one, name, ""))
        for kind in ("title", "subheader", "markdown", "caption", "checkbox", "expander")
        for one in getattr(at, kind)
        for name in ("value", "label")
    ]
    for sign in ("<script>", "**bold**", "$x^2$", ":red[hot]", "[link](", "`code`"):
        assert not any(sign in one for one in rendered), sign
    assert HOSTILE in text(at)


def test_the_language_is_the_browsers_until_it_is_switched_and_then_stays(var: Path) -> None:
    at = visit("runs.py", "zh-HK")
    assert at.title[0].value == "測試紀錄"
    at.segmented_control(key="language").set_value("en").run()
    assert at.title[0].value == "Runs"
    at.switch_page("compare.py").run()
    assert at.title[0].value == "Compare"


def test_a_database_of_a_newer_version_is_a_sentence_on_the_page(var: Path) -> None:
    with store.opened(var / "bench.db") as db:
        db.execute("update _sqlite_migrations set name = 'm999_future' where name = 'm001_runs'")
    at = visit("runs.py")
    assert "written by a newer version" in at.error[0].value


def test_starting_queues_one_run_however_often_it_is_clicked(var: Path) -> None:
    with lock.held(read(os.environ).lock):  # nobody works on it
        at = visit("launch.py")
        token = at.session_state["launch_token"]
        at.button(key="start").click().run()
        assert at.title[0].value.startswith("SmolLM2")
        first = at.query_params["run"]
        with store.opened(var / "bench.db") as db:
            (run,) = store.runs(db)
            assert store.submit(db, run.plan, token) == run.id  # the second click
            assert len(store.runs(db)) == 1
    assert first in (run.id, [run.id])
    assert run.plan.workload.id == "demo-1"


def test_a_second_person_is_told_that_the_run_waits(ids: dict[str, str], var: Path) -> None:
    assert words("en")("launch.busy") in text(visit("launch.py"))
    assert "One run comes before it" in progress(visit("run.py", run=ids["queued"]))


def test_a_model_that_is_not_here_says_what_is_missing(var: Path) -> None:
    at = visit("launch.py")
    at.radio[0].set_value("gpt-oss-120b").run()
    assert not at.exception
    assert at.button(key="start").disabled
    assert "What is missing" in at.warning[0].value


def test_an_endpoint_needs_an_address_first(var: Path) -> None:
    at = visit("launch.py")
    at.radio[0].set_value("endpoint").run()
    assert at.info[-1].value == words("en")("launch.url_missing")
    at.text_input[0].set_value("http://127.0.0.1:9/v1").run()
    assert "127.0.0.1:9" in text(at)
    assert at.button(key="start").disabled


def test_a_context_too_small_is_refused_with_the_numbers(var: Path) -> None:
    at = visit("launch.py")
    at.number_input[0].set_value(256).run()
    assert "256" in at.warning[0].value
    assert at.button(key="start").disabled


def test_facts_of_a_newer_worker_do_no_harm(ids: dict[str, str], var: Path) -> None:
    with store.opened(var / "bench.db") as db:
        store.learn(db, ids["good"], {"load": None, "command": "", "load_seconds": "x", "new": {}})
        store.event(db, ids["good"], "surprise", {"code": 1})
        store.event(db, ids["good"], "note", {"code": "never_heard_of"})
    visit("run.py", run=ids["good"])


def test_no_page_holds_text_sql_or_http() -> None:
    for file in (ROOT / "pages").rglob("*.py"):
        source = file.read_text(encoding="utf-8")
        assert "httpx" not in source, file
        assert not re.search(r"(?i)select .* from|db\.execute", source), file
        assert not re.search(r"[一-鿿]", source), file


def test_an_example_run_survives_its_round_trip(ids: dict[str, str], var: Path) -> None:
    with store.opened(var / "bench.db") as db:
        (run,) = store.load(db, [ids["good"]])
        level = store.levels(db, run.id)[-1]
        assert msgspec.json.decode(msgspec.json.encode(level), type=type(level)) == level


def machine(path: Path, available_kib: int) -> Path:
    """A ``/proc`` of a machine with so much memory left."""
    path.mkdir()
    (path / "meminfo").write_text(
        f"MemTotal: 16000000 kB\nMemFree: {available_kib} kB\nMemAvailable: {available_kib} kB\n"
        "Buffers: 0 kB\nCached: 0 kB\nSReclaimable: 0 kB\nShmem: 0 kB\n"
        "SwapTotal: 0 kB\nSwapFree: 0 kB\n"
    )
    return path


def test_a_model_that_does_not_fit_cannot_be_started(
    var: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_COMPARE_PROC", str(machine(var / "proc", 4_300_000)))
    at = visit("launch.py")
    assert words("en")("fit.verdict.wont_fit") in unescaped(at.error[0].value)
    assert at.button(key="start").disabled


def test_a_tight_fit_is_started_only_when_somebody_says_so(
    var: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_COMPARE_PROC", str(machine(var / "proc", 5_200_000)))
    at = visit("launch.py")
    assert words("en")("fit.verdict.tight") in unescaped(at.warning[0].value)
    assert at.button(key="start").disabled
    at.checkbox(key="tight").check().run()
    assert not at.button(key="start").disabled


def test_a_model_that_cannot_write_chinese_is_told_so_and_not_praised(
    ids: dict[str, str], var: Path
) -> None:
    with store.opened(var / "bench.db") as db:
        english = "Certainly! Here is a short explanation of the thing that you asked for."
        said = dict.fromkeys(examples.GOOD, english)
        run = examples.done(db, "smollm2-135m", "Parrot", 100, said)
    at = visit("chinese.py", "en", run=[run])
    assert any("Parrot" in one.value and "cannot write Chinese" in one.value for one in at.warning)
    assert words("en")("zh.clean") not in str(at.markdown)
    good = visit("chinese.py", "en", run=[ids["good"]])
    assert not good.warning

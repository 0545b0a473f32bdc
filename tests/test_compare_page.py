"""The Compare page: baseline, chart and axis in its address, settings, and kept comparisons."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from bench import store
from bench.config import read
from bench.kept import comparisons
from bench.people import access
from bench.shown.view import View
from bench.text import words
from tests.test_pages import ids, text, var, visit

Visit = Callable[..., AppTest]
EN = words("en")
__all__ = ["ids", "var"]  # fixtures


def choice(at: AppTest, name: str) -> str:
    (box,) = (one for one in at.selectbox if str(one.key).startswith(f"compare-{name}-"))
    return str(box.value)


def table(at: AppTest) -> list[str]:
    """Headings of the table of differences."""
    return list(at.dataframe[0].value.columns)


def test_the_first_result_is_the_baseline_until_a_reader_chooses(ids: dict[str, str]) -> None:
    at = visit("compare.py", run=[ids["fast"], ids["good"]])
    assert choice(at, "base") == ids["fast"]
    assert any("Gemma" in name for name in table(at))
    (box,) = (one for one in at.selectbox if str(one.key).startswith("compare-base-"))
    box.set_value(ids["good"]).run()
    assert at.query_params["base"] == ids["good"]
    assert any("SmolLM2" in name for name in table(at))


def test_a_link_keeps_baseline_chart_and_axis_in_the_other_language(ids: dict[str, str]) -> None:
    more = {"base": ids["good"], "chart": "pareto", "scale": "log"}
    at = visit("compare.py", "zh-TW", run=[ids["fast"], ids["good"]], **more)
    assert [choice(at, name) for name in ("base", "chart", "scale")] == list(more.values())
    (link,) = (one.value for one in at.code if one.value.startswith("http"))
    assert all(f"{name}={value}" in link for name, value in more.items())


def test_nonsense_in_a_link_shows_the_usual_view(ids: dict[str, str]) -> None:
    more = {"base": "x" * 10_000, "chart": "<script>", "scale": "9"}
    at = visit("compare.py", run=[ids["fast"], ids["good"]], **more)
    assert choice(at, "base") == ids["fast"] and choice(at, "scale") == "linear"


def test_a_published_result_is_set_against_nothing_and_the_reason_is_told(
    ids: dict[str, str],
) -> None:
    at = visit("compare.py", run=[ids["fast"], "ironman-2026-day9-vllm"])
    assert "without a winner" in "\n".join(one.value for one in at.caption)
    assert all(
        "%" not in str(cell) for frame in at.dataframe for cell in frame.value.to_numpy().flat
    )


def test_only_what_differs_is_listed(ids: dict[str, str]) -> None:
    at = visit("compare.py", run=[ids["fast"], ids["good"]])
    (frame,) = (one.value for one in at.dataframe if EN("differ.setting") in one.value.columns)
    shown = list(frame[EN("differ.setting")])
    assert EN("differ.model") in shown
    assert EN("differ.workload.id") not in shown, "both ran the same"


def test_more_than_eight_are_cut_and_said(ids: dict[str, str]) -> None:
    many = [ids["fast"], ids["good"], *(f"gone{n}" for n in range(9))]
    assert EN("compare.too_many", most=8) in text(visit("compare.py", run=many))


def keep(title: str, results: list[str]) -> str:
    return comparisons.keep(read(), access.shell("mei"), title, "our notes", results, View())


def test_a_kept_comparison_has_its_title_its_notes_and_its_link(ids: dict[str, str]) -> None:
    made = keep("Small <b>models</b> =1+1", [ids["fast"], "ironman-2026-day9-vllm"])
    at = visit("compare.py", "zh-TW", c=made)
    assert "Small <b>models</b> =1+1" in text(at) and "our notes" in text(at)
    assert at.title[0].value != "Small <b>models</b> =1+1", "shown as text, not as HTML"
    assert any(one.value.endswith(f"compare?c={made}") for one in at.code)
    assert "Small <b>models</b> =1+1" in text(visit("compare.py"))


def test_a_kept_comparison_whose_run_is_gone_says_so(ids: dict[str, str], var: Path) -> None:
    made = keep("With a gap", [ids["fast"], ids["good"]])
    with store.opened(var / "bench.db") as db:
        db.execute("delete from runs where id = ?", [ids["good"]])
    assert ids["good"] in "\n".join(one.value for one in visit("compare.py", c=made).warning)


def test_a_comparison_that_is_not_there_says_so(ids: dict[str, str]) -> None:
    at = visit("compare.py", c="nothing")
    assert EN("kept.unknown") in [one.value for one in at.warning]


def test_a_reader_keeps_a_comparison_and_gets_its_link(ids: dict[str, str]) -> None:
    at = visit("compare.py", run=[ids["fast"], ids["good"]], base=ids["good"])
    (title,) = (one for one in at.text_input if one.label == EN("kept.title"))
    title.set_value("Ours")
    next(one for one in at.button if one.label == EN("kept.save")).click().run()
    assert not at.exception
    with store.opened(read().database) as db:
        (found,) = comparisons.every(db)
    assert found.title == "Ours" and found.author == "local"
    assert found.view.base == ids["good"]


@pytest.mark.parametrize("language", ["en", "zh-TW"])
def test_characters_stand_beside_tokens(ids: dict[str, str], language: str) -> None:
    at = visit("compare.py", language, run=[ids["fast"], ids["good"]])
    t = words(language)
    frames = [one.value for one in at.dataframe if t("table.quantity") in one.value.columns]
    quantities = [name for frame in frames for name in frame[t("table.quantity")]]
    assert t("table.characters_per_second") in quantities
    assert t("table.characters_per_token") in quantities

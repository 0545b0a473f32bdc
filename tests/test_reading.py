"""Reading Chinese answers on the page: figures, findings, and whatever a model wrote."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest
from msgspec.structs import replace
from streamlit.testing.v1 import AppTest

from bench import chinese, store
from bench.catalogue import Catalogue, Prompt
from bench.shown import annotated, writing, written
from bench.text import LANGUAGES, words
from bench.web import links
from tests import chinese_examples as made
from tests.test_pages import text, visit

ASKED = Prompt(
    id="own", language="zh-TW", kind="own", set="own-1", text="請自我介紹。",
    checks={"max_length": 50},
)  # fmt: skip


@pytest.fixture
def var(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SPARK_COMPARE_VAR", str(tmp_path))
    monkeypatch.setenv("SPARK_COMPARE_START_WORKER", "0")
    return tmp_path


@pytest.fixture
def ids(var: Path) -> dict[str, str]:
    with store.opened(var / "bench.db") as db:
        return {quality: made.run(db, quality) for quality in made.NAMES}


def answers(at: AppTest) -> list[str]:
    """The answers' HTML as it is sent to the browser."""
    return [one.proto.body for one in at.get("html") if 'class="answer' in one.proto.body]


class Tags(HTMLParser):
    """Every tag and the plain text of a piece of HTML."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.said = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.said += data


@pytest.mark.parametrize("language", LANGUAGES)
def test_models_stand_beside_each_other_in_figures(ids: dict[str, str], language: str) -> None:
    at = visit("chinese.py", language, run=list(ids.values()))
    t = words(language)
    table = at.table[0].value.set_index("\N{NO-BREAK SPACE}")
    simplified = table.loc[t("zh.row.rate", kind=t("chinese.kind.simplified"))]
    assert list(table.columns) == ["Example A", "Example B", "Example C"]
    assert simplified["Example A"].startswith(t("zh.cell.none", high="").split("{")[0][:4])
    assert float(re.findall(r"[\d.]+", simplified["Example C"])[0]) > 100
    followed = table.loc[t("zh.row.followed")]
    assert re.findall(r"\d+", followed["Example A"])[:2] == ["26", "26"]
    assert len(answers(at)) == 36


def test_an_answer_shows_its_length_and_when_and_how_fast_it_came(ids: dict[str, str]) -> None:
    shown = text(visit("chinese.py", run=[ids["good"]], prompt="tw-letter-neighbour"))
    assert "61 characters · first character after 0.40 s · 22.0 characters/s" in shown
    assert "Instructions followed: 2 of 2" in shown


def test_a_link_names_one_question(ids: dict[str, str]) -> None:
    at = visit("chinese.py", run=list(ids.values()), prompt="tw-format-json")
    assert len(answers(at)) == 3
    asked = [one.proto.query_string for one in at.get("page_link") if one.proto.query_string]
    assert asked and "prompt" not in asked[0], "the way back to all of them"
    at = visit("chinese.py", run=[ids["good"]], prompt="<script>")
    assert len(answers(at)) == 12
    assert words("en")("zh.unknown_question") in text(at)


def test_sets_are_read_apart(var: Path, ids: dict[str, str]) -> None:
    with store.opened(var / "bench.db") as db:
        run = made.run(db, "own", {"own": "我是助理。"}, (ASKED,))
    at = visit("chinese.py", run=[ids["good"], run])
    assert at.segmented_control(key="set").options == ["Taiwan questions (zh-tw-1)", "own-1"]
    assert len(answers(at)) == 12
    at.segmented_control(key="set").set_value("own-1").run()
    assert len(answers(at)) == 1 and at.query_params["set"] == "own-1"


def test_repeats_say_how_stable_a_model_is(var: Path) -> None:
    with store.opened(var / "bench.db") as db:
        run = made.run(db, "own", {"own": "我是助理。"}, (ASKED,))
        made.save(db, run, ASKED, made.told(run, "own", "我是软件。"), 2)
        made.save(db, run, ASKED, made.told(run, "own", "我是助理。"), 3)
    at = visit("chinese.py", run=[run])
    assert "Asked 3 times: 2 different answers, 0–1 findings each" in text(at)


def test_an_id_with_another_text_is_another_question(var: Path) -> None:
    with store.opened(var / "bench.db") as db:
        runs = [
            made.run(db, "own", {"own": "我是助理。"}, (replace(ASKED, text=text),))
            for text in ("請自我介紹。", "請介紹自己。")
        ]
    at = visit("chinese.py", run=runs)
    assert len(answers(at)) == 2 and text(at).count(words("en")("zh.no_answer")) == 2


def test_a_failed_answer_is_told_and_is_in_no_figure(var: Path) -> None:
    with store.opened(var / "bench.db") as db:
        run = made.run(db, "own", {"own": "软件"}, (ASKED,), error="connection broke")
    at = visit("chinese.py", run=[run])
    assert "connection broke" in text(at)
    assert at.table[0].value.iloc[1, 1] == "0 (0 characters)"


def test_thinking_is_folded_away_and_not_judged(var: Path) -> None:
    with store.opened(var / "bench.db") as db:
        run = made.run(db, "own", {"own": "我是助理。"}, (ASKED,), reasoning="用户要我自我介绍")
    at = visit("chinese.py", run=[run])
    thinking = next(one for one in at.expander if one.label == words("en")("run.thinking"))
    assert [one.value for one in thinking.text] == ["用户要我自我介绍"]
    assert "<mark" not in answers(at)[0]


HOSTILE = (
    "<script>alert(1)</script><img src=x onerror=alert(1)>![image](http://evil.test/x.png)"
    "[link](javascript:alert(1)) </div></span><mark class=error onfocus=alert(1)> &lt; $x^2$ "
    "<style>*{display:none}</style> 這是软件。"
)


def test_markup_of_a_model_stays_text(var: Path) -> None:
    with store.opened(var / "bench.db") as db:
        run = made.run(db, "own", {"own": HOSTILE}, (ASKED,))
    (html,) = answers(visit("chinese.py", run=[run]))
    seen = Tags(html)
    assert set(seen.tags) == {"div", "mark", "span"}
    assert all(part in seen.said for part in ("<script>alert(1)</script>", "onerror=alert(1)"))
    assert "&amp;lt;" in html, "what looks like an entity is text as well"


def test_a_word_in_a_finding_cannot_leave_its_tooltip() -> None:
    nasty = chinese.Finding(
        start=0, end=3, text='"><', rule="simplified", severity="error", fields={"taiwan": "<b>"}
    )
    html = annotated.html('"><後', [nasty], "k", words("en"))
    assert Tags(html).tags == ["div", "mark", "span"]


def test_neighbouring_findings_are_one_mark_and_one_stop_of_the_tab_key() -> None:
    text = "用户的网络"
    html = annotated.html(text, chinese.check(text), "k", words("en"))
    assert html.count("<mark") == html.count('tabindex="0"') == 2
    assert "户<span" in html and "网络<span" in html


def test_an_answer_is_whole_again_when_its_reasons_are_taken_out(ids: dict[str, str]) -> None:
    for quality in ids:
        for one in made.texts(quality).values():
            html = annotated.html(one, chinese.check(one), "k", words("zh-TW"))
            bare = re.sub(r'<span class="why".*?</span>', "", html, flags=re.DOTALL)
            assert unescape(re.sub(r"<[^>]+>", "", bare)) == one


def test_simplified_characters_that_were_asked_for_are_no_fault(var: Path) -> None:
    asked = replace(ASKED, text="請用簡體中文自我介紹。")
    with store.opened(var / "bench.db") as db:
        run = made.run(db, "own", {"own": "我是人工智能助手，可以帮您写软件。"}, (asked,))
    at = visit("chinese.py", run=[run])
    assert "<mark" not in answers(at)[0]
    assert "Nothing found" in text(at)


def test_a_hundred_thousand_characters_are_cut_and_counted(var: Path) -> None:
    long = "這是一段很長的回答，裡面有软件和網路。" * 5_300
    with store.opened(var / "bench.db") as db:
        run = made.run(db, "own", {"own": long[:100_000]}, (ASKED,))
    at = visit("chinese.py", run=[run])
    (html,) = answers(at)
    assert "Only the first 20,000 of 100,000 characters are shown." in text(at)
    assert len(html) < 100_000 and html.count("<mark") == annotated.STOPS


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("given", ["好", "😀🎉👨‍👩‍👧", "。", " \n ", ""])
def test_hardly_anything_is_shown_as_what_it_is(var: Path, given: str, language: str) -> None:
    with store.opened(var / "bench.db") as db:
        run = made.run(db, "own", {"own": given}, (ASKED,))
    at = visit("chinese.py", language, run=[run])
    if given.strip():
        assert given in unescape(answers(at)[0])
    else:
        assert words(language)("zh.empty_answer") in text(at)
        assert words(language)("chinese.empty") in text(at)


def test_invisible_and_right_to_left_characters_are_named_and_stay_in_their_box(var: Path) -> None:
    with store.opened(var / "bench.db") as db:
        run = made.run(db, "own", {"own": "我是\u200b助\u202e理。"}, (ASKED,))
    (html,) = answers(visit("chinese.py", run=[run]))
    assert "U+200B" in html and "U+202E" in html
    assert 'class="hint"' in html
    assert "unicode-bidi: isolate" in annotated.STYLE


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_model_that_writes_no_chinese_gets_no_score(
    var: Path, known: Catalogue, language: str
) -> None:
    noise = "The cat sat on the mat and " * 20
    with store.opened(var / "bench.db") as db:
        run = made.run(db, "own", dict.fromkeys([one.id for one in made.SHORT], noise))
        (result,) = links.load(db, [run], known, words(language))
    at = visit("chinese.py", language, run=[run])
    t = words(language)
    assert t("chinese.literacy.no", chinese=0, answers=12) in text(at)
    assert t("zh.clean") not in text(at)
    figures = writing.of(writing.readings(result), "zh-tw-1")
    assert {written.rate(figures, rate, t) for rate in figures.rates.values()} == {"–"}

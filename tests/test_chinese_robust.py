"""Strange, hostile and very long text; who can write Chinese at all; pieces for a page."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.catalogue import Prompt
from bench.chinese import can_write, check, explanation, marked, rates, summary
from bench.text import words

LONG = {
    "right": "台北的松樹表面很乾淨，他不想干預鄰里的事，於是走進后里車站旁的麵店，點了碗陽春麵。",
    "simplified": "这个软件的问题已经发现了，",
    "one character": "哈",
    "open tags": "<a ",
    "brackets": "「『“（《[!",
    "backticks": "`",
    "fences": "```\n",
    "stars": "**",
    "latin": "lorem ipsum, ",
    "at": "a@",
    "quotes": '"中',
    "pipes": "| --- ",
    "numbers": "1. ",
    "kana": "の中",
    "emoji": "🙂",
    "latin one": "Ã©",
    "comments": "<!--",
    "thinking": "<think>",
}
PROMPT = Prompt(
    id="p",
    language="zh-TW",
    kind="own",
    text="請用三點說明。",
    checks={"items": 3, "item_length": 9, "sentences": 3, "paragraphs": 1, "format": "plain"},
)


def rules(text, **more):
    return {f.rule for f in check(text, **more)}


@pytest.mark.parametrize("unit", LONG.values(), ids=LONG)
def test_100_000_characters_take_seconds_not_minutes(unit):
    text = (unit * 100_000)[:100_000]
    began = time.perf_counter()
    findings = check(text, prompt=PROMPT)
    spans = marked(text, findings)
    can_write([text], [PROMPT.text])
    assert time.perf_counter() - began < 20
    assert "".join(span.text for span in spans) == text


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=200))
def test_any_text_gives_findings_inside_itself(text):
    findings = check(text, prompt=PROMPT, finish="length")
    assert all(0 <= f.start <= f.end <= len(text) for f in findings)
    assert all(explanation(f, words("zh-TW")) for f in findings)
    spans = marked(text, findings)
    assert "".join(span.text for span in spans) == text
    shown = [f for span in spans for f in span.findings]
    assert all(f in shown for f in findings)


@given(st.text(alphabet="这軟件\n`「」“”*<>/ai。，,?!です1.-|", max_size=120))
def test_a_finding_holds_the_text_at_its_place(text):
    for finding in check(text):
        assert text[finding.start : finding.end] == finding.text


@pytest.mark.parametrize(
    "text", ["字", "🙂🙃😀", "\u202e\u200f\u200b\ufeff", "…", "1", "a", "\0\0"]
)
def test_tiny_and_odd_answers_are_not_accused_of_their_script(text):
    assert not [f for f in check(text) if f.severity != "hint"]


def test_invisible_characters_are_pointed_out_and_not_counted():
    assert rules("這\u200b裡") == {"hidden_character"}


def test_html_and_images_in_an_answer_stay_text():
    text = (
        '<script>alert("软件")</script><img src=x onerror=alert(1)>![圖](https://x.test/软.png)好'
    )
    assert rules(text) == set()
    assert marked(text, check(text))[0].text == text


def test_an_answer_cut_off_is_told_from_an_empty_one():
    assert rules("說到一半", finish="length") == {"truncated"}
    assert rules("", finish="length", reasoning="想了很久") == {"only_thinking"}
    assert rules("") == {"empty"}
    assert rules("說完了。", finish="stop") == set()


def test_lost_characters_are_told_from_a_wrong_encoding():
    assert rules("颱風\ufffd來了") == {"lost_character"}
    misread = "繁體中文很好".encode().decode("latin-1")
    assert rules(misread) == {"mojibake"}
    assert check(misread)[0].fields["meant"] == "繁體中文很好"
    assert rules("你好世界，測試".encode().decode("gbk", "ignore")) == {"mojibake"}


def test_rules_of_dashes_laughter_and_tables_are_no_loop():
    assert rules("-" * 300) == set()
    assert rules("| --- " * 60) == set()
    assert rules("哈哈哈哈哈哈哈哈") == set()
    assert rules("加油加油加油加油加油加油，中華隊！") == set()
    assert "loop" in rules("我會盡力。" * 20)


def test_overlapping_findings_share_their_pieces():
    text = "请用这个软件"
    findings = check("前" + text)
    spans = marked("前" + text, findings)
    assert spans[0].text == "前" and spans[0].findings == ()
    assert [span.findings[0].rule for span in spans[1:] if span.findings] == ["simplified"] * 4


def test_what_is_missing_has_a_piece_of_its_own():
    spans = marked("說到一半", check("說到一半", finish="length"))
    assert [(span.text, bool(span.findings)) for span in spans] == [("說到一半", False), ("", True)]


def test_hints_are_not_counted():
    found = summary(check("沿着海岸走，还有用戶"), "沿着海岸走，还有用戶")
    assert (found.total, found.hints, found.counts) == (1, 2, {"simplified": 1})
    assert found.characters == 9


def test_rates_come_with_an_interval_from_five_answers_on():
    clean, bad = "今天天氣很好，我們去散步。" * 3, "这個" * 3
    few = [summary(check(text), text) for text in [clean, bad]]
    many = [summary(check(text), text) for text in [clean] * 8 + [bad] * 2]
    assert rates(few)["simplified"].interval is None
    rate = rates(many)["simplified"]
    assert (rate.count, rate.answers) == (6, 2)
    assert rate.interval.low <= rate.per_1000 <= rate.interval.high
    assert rates(many)["damage"].interval.high > 0
    assert rates([])["damage"].per_1000 is None


GOOD = "您好，我們已經收到您的來信，會儘快為您處理，謝謝您的耐心等候。"
ENGLISH = "I am happy to help you with your letter to the neighbour about the noise."


@pytest.mark.parametrize(
    ("answers", "level", "reasons"),
    [
        ([GOOD] * 3, "yes", ()),
        ([ENGLISH] * 3, "no", ("little_chinese",)),
        (["你好。" * 60, ENGLISH, ENGLISH], "no", ("little_chinese", "loops")),
        ([GOOD, GOOD, ENGLISH], "poor", ("little_chinese",)),
        (["好"], "unknown", ()),
        ([], "unknown", ()),
        (["", ""], "no", ("empty",)),
        (
            ["龘鬱鸝犇驫麤" * 1 + "".join(chr(0x9F00 + i % 97) for i in range(300))],
            "no",
            ("no_grammar",),
        ),
    ],
)
def test_a_model_that_cannot_write_chinese_is_told_as_such(answers, level, reasons):
    found = can_write(answers)
    assert (found.level, found.reasons) == (level, reasons)


def test_an_echo_of_the_question_is_no_answer():
    question = "請以客服人員的身分，寫一封簡短的電子郵件，告訴王小姐她訂購的印表機要延後一週到貨。"
    assert can_write([question], [question]).reasons == ("echo",)
    asked = "請幫我寫一張貼在電梯裡的紙條，提醒樓上鄰居晚上十點以後不要拖拉家具，80 字以內。"
    pieces = "請寫一張貼在電梯裡的紙條，提醒樓上鄰居晚上十點以後不要拖拉家具，80字以內。"
    assert can_write([pieces], [asked]).reasons == ("echo",)
    assert can_write([pieces], [f"請整理重點：「{asked}」"]).level == "yes", "a summary may quote"


def test_what_the_two_demo_models_said_is_told_to_be_no_chinese():
    """Answers of SmolLM2-135M and Gemma 3 270M (base), as they came from llama.cpp's server."""
    question = "請用一句話介紹臺北。"
    turn = f"{question}<|im_end|>\n<|im_start|>admin\n"
    smollm2 = (
        f'{question}\n\nThis is a common idiomatic expression that means "to the west" or "to the'
    )
    assert can_write([turn * 2 + question], [question]).reasons == ("echo",)
    assert can_write([smollm2], [question]).reasons == ("little_chinese",)
    assert can_write(["bat" * 24], [question]).reasons == ("loops",)


def test_simplified_chinese_is_chinese():
    assert can_write(["这个软件的问题已经发现了，我们会尽快处理。"]).level == "yes"

"""The prompt set, and the instructions that a program can see followed."""

import tomllib
from collections import Counter
from pathlib import Path

import pytest

from bench.catalogue import Prompt, load
from bench.chinese import check, instructions, outcomes
from bench.errors import BenchError

ANSWERS = tomllib.loads(
    (Path(__file__).parent / "data" / "chinese" / "answers.toml").read_text(encoding="utf-8")
)
PROMPTS = {id: p for id, p in load().prompts.items() if p.set == "zh-tw-1"}


def prompt(**checks):
    return Prompt(id="p", language="zh-TW", kind="own", text="請回答。", checks=checks)


def missed(text, **checks):
    return [
        (o.finding.rule, dict(o.finding.fields))
        for o in outcomes(text, prompt(**checks))
        if o.finding
    ]


def test_the_set_has_36_prompts_in_nine_kinds_and_a_short_form_of_twelve():
    assert len(PROMPTS) == 36
    assert set(Counter(p.kind for p in PROMPTS.values()).values()) == {4}
    short = [p for p in PROMPTS.values() if p.short]
    assert len(short) == 12
    assert {p.kind for p in short} == {p.kind for p in PROMPTS.values()}


@pytest.mark.parametrize("one", PROMPTS.values(), ids=lambda p: p.id)
def test_a_prompt_is_written_as_in_taiwan_and_says_what_is_checked_and_why(one):
    assert [f for f in check(one.text) if f.severity != "hint"] == []
    assert one.checks and all(instructions.known(name) for name in one.checks)
    assert set(one.why) == {"en", "zh-TW"}


@pytest.mark.parametrize("answer", ANSWERS["good"], ids=lambda a: a["prompt"])
def test_a_good_answer_follows_every_instruction_and_is_not_accused(answer):
    one = PROMPTS[answer["prompt"]]
    assert [f for f in check(answer["text"], prompt=one) if f.severity != "hint"] == []
    assert all(outcome.followed for outcome in outcomes(answer["text"], one))


@pytest.mark.parametrize("answer", ANSWERS["bad"], ids=lambda a: a["prompt"])
def test_a_bad_answer_is_found_out(answer):
    found = {f.rule for f in check(answer["text"], prompt=PROMPTS[answer["prompt"]])}
    assert set(answer["rules"]) <= found


def test_nearly_every_prompt_has_a_good_answer_among_the_tests():
    assert len({a["prompt"] for a in ANSWERS["good"]}) >= 34


@pytest.mark.parametrize(
    ("text", "checks", "rule"),
    [
        ("- 一\n- 二", {"items": 3}, "wrong_items"),
        ("第一，好。第二，壞。", {"items": 3}, "wrong_items"),
        ("這句話有七個字。", {"max_length": 6}, "too_long"),
        ("短", {"min_length": 2}, "too_short"),
        ("一句。兩句。", {"sentences": 1}, "wrong_sentences"),
        ("一段\n\n兩段", {"paragraphs": 1}, "wrong_paragraphs"),
        ("一行\n兩行", {"lines": 1}, "wrong_lines"),
        ("沒有表格", {"format": "table"}, "not_table"),
        ("**粗體**", {"format": "plain"}, "not_plain"),
        ("一行", {"format": "list"}, "not_list"),
        ("[1, 2", {"format": "json"}, "not_json"),
        ('{"a": 1}', {"keys": ("b",)}, "key_missing"),
        ('[{"a": 1}, {}]', {"keys": ("a",)}, "key_missing"),
        ('{"a": true}', {"keys": ("a:integer",)}, "wrong_type"),
        ("[]", {"keys": ("a",)}, "key_missing"),
        ("你好", {"tool": "x"}, "not_tool_call"),
        ("甲", {"terms": ("乙|丙",)}, "term_missing"),
        ("甲", {"not_terms": ("甲",)}, "term_forbidden"),
        ("2026 年 10 月 10 日", {"roc_date": "115-10-10"}, "roc_date_missing"),
        ("一百", {"number": "100"}, "number_missing"),
        ("乙", {"starts": ("甲",)}, "wrong_start"),
        ("乙。", {"ends": ("甲",)}, "wrong_end"),
    ],
)
def test_an_instruction_missed_is_named(text, checks, rule):
    assert [name for name, _ in missed(text, **checks)] == [rule]


@pytest.mark.parametrize(
    ("text", "checks"),
    [
        ("前言：\n1. 甲\n   - 小點\n2. 乙", {"items": 2}),
        ("### 一、甲\n內容\n\n### 二、乙\n內容", {"items": 2}),
        ("長度只算字，標點、空白 and words 各算一個。", {"max_length": 15, "min_length": 15}),
        ("好嗎？好！走吧。", {"sentences": 3}),
        ('```json\n{"a": 1.5}\n```', {"keys": ("a:number",)}),
        (
            '{"function": {"name": "x", "arguments": {"k": 3}}}',
            {"tool": "x", "arguments": ("k=3",)},
        ),
        ("民國115年3月9日", {"roc_date": "115-03-09"}),
        ("民國 115 年 03 月 09 日", {"roc_date": "115-3-9"}),
        ("共 1,234 元", {"number": 1234}),
        ("甲乙。", {"starts": ("甲",), "ends": ("乙",)}),
    ],
)
def test_an_instruction_followed_in_another_spelling_is_followed(text, checks):
    assert missed(text, **checks) == []


def test_an_unknown_check_is_an_error_that_names_the_prompt():
    with pytest.raises(BenchError, match="p asks for the check “colour”"):
        outcomes("甲", prompt(colour="red"))


def test_an_answer_in_english_to_a_chinese_prompt_is_no_chinese():
    text = "Sure! Here is a short letter for your neighbours."
    assert "not_chinese" in {f.rule for f in check(text, prompt=prompt())}
    assert "not_chinese" not in {f.rule for f in check(text)}


def test_a_forbidden_word_is_marked_where_it_stands():
    (finding,) = [
        f for f in check("我很好。", prompt=prompt(not_terms=("很",))) if f.rule == "term_forbidden"
    ]
    assert (finding.start, finding.end, finding.text) == (1, 2, "很")

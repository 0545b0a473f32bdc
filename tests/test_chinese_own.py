"""A team's own prompts from a CSV file."""

import pytest

from bench.chinese import check
from bench.chinese.own import read
from bench.errors import BenchError

CSV = (
    "text,kind,checks,why\n"
    '"請列三點，說明請假流程。",內部,"items=3; terms=人資|人事,主管",看得懂公司用語嗎\n'
    "請簡短回答。,,max_length=20,\n"
)


def test_a_file_becomes_prompts_of_a_versioned_set():
    first, second = read("team", CSV)
    assert first.checks == {"items": 3, "terms": ("人資|人事", "主管")}
    assert (first.kind, second.kind, second.why) == ("內部", "own", {})
    assert first.set == second.set and first.id == f"{first.set}-1"
    assert "wrong_items" in {f.rule for f in check("找主管與人資。", prompt=first)}


def test_a_change_makes_another_set():
    assert read("team", CSV)[0].set != read("team", CSV + "再一題。,,,\n")[0].set
    assert read("team", "\ufeff" + CSV) == read("team", CSV)


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("", "prompts_columns"),
        ("question\n好\n", "prompts_columns"),
        ("text,colour\n好,紅\n", "prompts_columns"),
        ("text\n  \n", "prompts_row"),
        ("text,checks\n好,shape=round\n", "prompts_row"),
        ("text,checks\n好,items=three\n", "prompts_row"),
        ("text,checks\n好,items\n", "prompts_row"),
        ("text,checks\n好,format=xml\n", "prompts_row"),
        ("text,checks\n好,roc_date=明天\n", "prompts_row"),
        ("text,checks\n好,keys=a:colour\n", "prompts_row"),
        (f"text\n{'好' * 20_001}\n", "prompts_row"),
    ],
)
def test_a_faulty_file_is_refused_with_the_place(content, code):
    with pytest.raises(BenchError) as refused:
        read("team", content)
    assert refused.value.fault.code == code
    assert str(refused.value)


def test_the_line_of_a_fault_is_named():
    with pytest.raises(BenchError, match="Line 3"):
        read("team", "text,checks\n好,\n好,shape=round\n")

"""The commands: findings of a text file, and the benchmark beside other tools."""

import io
import json
import sys

import pytest

from bench.chinese import benchmark, corpus, peers, report


def run(capsys, *argv):
    code = report.main(argv)
    return code, capsys.readouterr()


def test_findings_of_a_file_are_printed_with_their_place_and_reason(tmp_path, capsys):
    file = tmp_path / "a.txt"
    file.write_text("第一行很好。\n第二行还有一個字。", encoding="utf-8")
    code, printed = run(capsys, str(file), "--language", "en")
    assert code == 1
    assert printed.out.splitlines() == [
        "line 2, column 4 · Fault · “还” is a Simplified character; Taiwan writes “還”.",
        "1 faults, 0 words or marks not usual in Taiwan, 0 hints in 13 字.",
    ]


def test_the_same_in_chinese_and_as_json(tmp_path, capsys):
    file = tmp_path / "a.txt"
    file.write_text("\ufeff請下載軟件。", encoding="utf-8")
    assert "第 1 行第 4 字 · 非臺灣用法" in run(capsys, str(file), "--language", "zh-TW")[1].out
    (finding,) = json.loads(run(capsys, str(file), "--json")[1].out)["findings"]
    assert (finding["start"], finding["text"], finding["rule"]) == (3, "軟件", "mainland_term")


def test_a_clean_text_ends_with_0(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("今天天氣很好。".encode())))
    assert run(capsys, "-")[0] == 0


def test_an_english_text_is_told_to_be_no_chinese(tmp_path, capsys):
    file = tmp_path / "a.txt"
    file.write_text(
        "One two three four five six seven eight nine ten eleven twelve.", encoding="utf-8"
    )
    assert "Hardly any Chinese" in run(capsys, str(file), "--language", "en")[1].out


@pytest.mark.parametrize("content", ["測試".encode("big5"), None])
def test_a_file_that_is_no_utf8_or_not_there_is_named(tmp_path, capsys, content):
    file = tmp_path / "a.txt"
    if content is not None:
        file.write_bytes(content)
    code, printed = run(capsys, str(file), "--language", "en")
    assert code == 1 and str(file) in printed.err and "UTF-8" in printed.err


def test_our_score_on_the_corpus_is_the_goal():
    found = benchmark.score("ours", peers.ours, corpus.read(), iter([1.0, 3.5]).__next__)
    assert found.accused == 0
    assert found.found >= 0.98 * found.planted
    assert found.seconds == 2.5


def test_a_judge_that_accuses_everything_scores_badly():
    found = benchmark.score("all", lambda text: [(0, len(text))], corpus.read())
    assert found.accused == found.right
    assert found.found == found.planted


def test_a_change_is_placed_in_the_original():
    assert peers.changed("少數組織", "少陣列織") == [(1, 3)]
    assert peers.changed("相同", "相同") == []


def test_the_table_names_each_tool(capsys):
    assert benchmark.main([]) == 0
    printed = capsys.readouterr().out
    assert "| Spark Compare | 0 of " in printed
    for name, judge in peers.peers().items():
        assert (f"| {name} |" in printed) == (judge is not None)

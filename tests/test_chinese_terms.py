"""The list of Mainland words: each row proves itself."""

import pytest

from bench.chinese import check
from bench.chinese.terms import terms


def words(text):
    return [(f.text, f.severity) for f in check(text) if f.rule == "mainland_term"]


def test_the_list_is_long_enough_and_holds_nothing_twice():
    names = [term.term for term in terms()]
    assert len(names) >= 250
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("term", terms(), ids=lambda term: term.term)
def test_a_word_is_found_in_its_example_and_not_in_its_counter_example(term):
    assert words(term.example) == [(term.term, term.severity)]
    assert [f for f in check(term.example) if f.rule != "mainland_term"] == []
    assert [f for f in check(term.counter) if f.severity != "hint" or f.text == term.term] == []


@pytest.mark.parametrize("term", terms(), ids=lambda term: term.term)
def test_no_taiwan_word_is_itself_in_the_list(term):
    assert [f for f in words(term.taiwan) if f[1] == "warning"] == []


@pytest.mark.parametrize("term", [t for t in terms() if t.unless], ids=lambda term: term.term)
def test_a_stretch_that_only_looks_like_the_word_is_no_fault(term):
    for stretch in term.unless:
        found = [text for text, _ in words(f"，{stretch}，")]
        assert term.term not in found, stretch


def test_the_longest_word_is_named_once():
    assert words("固態硬盤和網絡安全") == [("硬盤", "warning"), ("網絡安全", "warning")]


def test_a_sentence_about_the_mainland_may_name_its_words():
    assert words("大陸說視頻，我們說影片。") == [("視頻", "hint")]
    assert words("對岸的「視頻」就是影片。") == []
    assert words("他在大陸。請看視頻。") == [("視頻", "warning")]


def test_a_title_keeps_its_words():
    assert words("他寫了《信息簡史》。") == []

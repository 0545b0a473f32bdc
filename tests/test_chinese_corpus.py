"""Our own labelled corpus: right text is not accused, planted faults are found.

``tests/data/chinese/corpus.tsv`` has a sentence a line (``\\n`` is a line end) and its faults as
``rule=text`` parted by ``;``; no faults mean that the sentence is right in Taiwan.
"""

from collections import Counter

import pytest

from bench.chinese import check
from bench.chinese.corpus import read

CASES = read()
RIGHT = [case for case in CASES if not case.faults]
WRONG = [case for case in CASES if case.faults]


def counted(text):
    return Counter((f.rule, f.text) for f in check(text) if f.severity != "hint")


def test_the_corpus_is_large_and_its_hard_cases_come_first():
    assert len(CASES) >= 400
    assert len(RIGHT) >= 200 and len(WRONG) >= 150
    assert len({case.text for case in CASES}) == len(CASES)
    assert CASES[0].group == "hard"


@pytest.mark.parametrize("case", RIGHT, ids=lambda case: case.text[:12])
def test_right_text_is_not_accused(case):
    assert counted(case.text) == Counter()


def test_98_per_cent_of_planted_faults_are_found():
    planted = Counter()
    found = Counter()
    for case in WRONG:
        faults = Counter(case.faults)
        planted += Counter({case.group: faults.total()})
        found += Counter({case.group: (faults & counted(case.text)).total()})
    assert planted.total() >= 250
    assert found.total() >= 0.98 * planted.total(), planted - found


@pytest.mark.parametrize("case", WRONG, ids=lambda case: case.text[:12])
def test_a_wrong_sentence_is_accused_of_nothing_else(case):
    assert counted(case.text) - Counter(case.faults) == Counter()


def test_hints_on_right_text_are_few():
    hints = [f for case in RIGHT for f in check(case.text)]
    assert len(hints) <= 0.05 * len(RIGHT)

"""What may be compared with what, and why not."""

from __future__ import annotations

import pytest
from levels import closed_loop
from msgspec.structs import replace

from bench.numbers.measured import Measured, comparable, reason
from bench.numbers.metrics import summarise

SWEEP = summarise(closed_loop(16, 8), kind="sweep", name="c8")
A = Measured(
    label="A", workload="standard-1", prompt_tokens=2048, output_tokens=128, levels=(SWEEP,)
)
B = replace(A, label="B")


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"workload": "quick-1"}, "workload"),
        ({"prompt_tokens": 512}, "lengths"),
        ({"output_tokens": 64}, "lengths"),
        ({"arrival": "burst"}, "arrival"),
        ({"levels": (replace(SWEEP, flags=("cached_prompts",)),)}, "cache"),
        ({"levels": (replace(SWEEP, flags=("short_output",)),)}, "output"),
        ({"health": "slow"}, "health"),
        ({"definitions": {"tpot": "guidellm"}}, "definition"),
        ({"source": "published"}, "published"),
    ],
)
def test_what_differs_in_what_was_sent_or_how_is_not_compared(change, code):
    other = replace(B, **change)
    for first, second in ((A, other), (other, A)):
        assert reason(first, second).code == code


def test_the_same_under_the_same_conditions_is_compared():
    assert reason(A, B) is None
    assert reason(A, replace(B, source="imported")) is None


def test_the_largest_comparable_group_is_compared_and_the_rest_has_reasons():
    odd = replace(A, label="odd", workload="quick-1")
    group, apart = comparable([odd, A, B])
    assert group == (A, B)
    assert [(r.code, r.fields["a"], r.fields["b"]) for r in apart] == [("workload", "A", "odd")]
    assert comparable([]) == ((), ())

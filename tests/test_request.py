"""The numbers of one request: speed in characters, for readers of Chinese."""

from __future__ import annotations

import pytest
from levels import sample

from bench.numbers.request import answer_speed, characters


def test_characters_are_code_points_without_whitespace():
    assert characters("繁體 中文\n３　字。") == 7
    assert characters("a b\tc\r\n") == 3
    assert characters("𠮷野家") == 3


def test_speed_in_characters_is_speed_in_tokens_times_characters_a_token():
    found = answer_speed(sample(tokens=64, step=0.02, text="字" * 96))
    assert found.tokens_per_second == pytest.approx(50)
    assert found.characters_per_token == pytest.approx(1.5)
    assert found.characters_per_second == pytest.approx(75)
    assert found.characters == 96


def test_thinking_is_no_part_of_the_answers_characters():
    found = answer_speed(
        sample(tokens=64, reasoning="thinking " * 16, reasoning_tokens=16, text="字" * 48)
    )
    assert found.characters_per_token == pytest.approx(1.0)
    assert found.characters_per_second == pytest.approx(50)


def test_with_unknown_thinking_tokens_the_answers_own_time_is_taken():
    one = sample(tokens=64, reasoning="thinking", text="字" * 48, first_answer=0.86)
    found = answer_speed(one)
    assert found.characters_per_token is None
    assert found.characters_per_second == pytest.approx(48 / (1.46 - 0.86))


def test_an_answer_that_never_came_has_no_speed_in_characters():
    found = answer_speed(sample(text="", first_answer=None, reasoning="all of it thinking"))
    assert (found.characters, found.characters_per_second) == (0, None)
    assert found.characters_per_token is None
    assert found.tokens_per_second == pytest.approx(50)


def test_an_answer_in_one_piece_has_no_speed():
    found = answer_speed(sample(tokens=1, text="好"))
    assert (found.tokens_per_second, found.characters_per_second) == (None, None)
    assert found.characters_per_token == 1.0

"""Prompts: exact in length, never alike at the start, and honest about an estimate."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.prompts import TRIES, SizedPrompt, build, calibrated, template_tokens

PIECES = re.compile(r" ?[a-z]{1,5}|[A-Z]|[.,]| ?.")


def by_word(text):
    return len(text.split())


def by_piece(text):
    """Like a byte-pair tokenizer: short words are one token, long ones and marks their own."""
    return len(PIECES.findall(text))


def by_letters(text):
    return -(-len(text) // 4)


def first_block(text):
    return tuple(PIECES.findall(text)[:16])


@pytest.mark.parametrize("count", [by_word, by_piece])
@pytest.mark.parametrize("tokens", [17, 64, 128, 2048])
def test_a_prompt_has_exactly_the_asked_length_in_few_calls(count, tokens):
    calls = []

    def counted(text):
        calls.append(text)
        return count(text)

    prompts = build(counted, seed=1, stream="c8", tokens=tokens, n=8)
    assert [count(prompt.text) for prompt in prompts] == [tokens] * 8
    assert all(prompt.exact(tokens) for prompt in prompts)
    assert len(calls) <= 4 * 8


@settings(max_examples=40, deadline=None)
@given(
    tokens=st.integers(1, 600),
    seed=st.integers(0, 2**32),
    count=st.sampled_from([by_word, by_piece, by_letters]),
)
def test_any_length_is_met_or_told_with_any_tokenizer(tokens, seed, count):
    (prompt,) = build(count, seed=seed, stream="x", tokens=tokens, n=1)
    assert prompt.tokens == count(prompt.text)
    assert prompt.counted
    assert abs(prompt.tokens - tokens) <= 3


def test_a11_no_two_prompts_of_a_run_or_of_two_seeds_share_a_first_block():
    texts = [
        prompt.text
        for seed in (1, 2)
        for stream in ("c1/1", "c8/1", "c8/2", "c8/1/warmup")
        for prompt in build(None, seed=seed, stream=stream, tokens=128, n=64)
    ]
    assert len({first_block(text) for text in texts}) == len(texts) == 512
    assert len({text[:64] for text in texts}) == 512


def test_the_unique_start_is_at_least_sixteen_tokens_long():
    prompts = build(None, seed=1, stream="c8", tokens=300, n=20)
    tags = [prompt.text[: prompt.text.index(".")] for prompt in prompts]
    assert {by_word(tag) for tag in tags} == {20}
    words = [set(tag.split()) for tag in tags]
    assert all(len(one & other) < 12 for one in words for other in words if one is not other)


def test_the_same_seed_gives_the_same_prompts_and_another_gives_others():
    def texts(seed, stream="c8"):
        return [p.text for p in build(by_piece, seed=seed, stream=stream, tokens=100, n=3)]

    assert texts(1) == texts(1)
    assert not set(texts(1)) & set(texts(2))
    assert not set(texts(1)) & set(texts(1, "c16"))


def test_without_a_counter_the_length_is_an_estimate_and_says_so():
    prompts = build(None, seed=1, stream="c8", tokens=256, n=4)
    assert not any(prompt.counted for prompt in prompts)
    assert not any(prompt.exact(256) for prompt in prompts)
    assert all(abs(prompt.tokens - 256) <= 3 for prompt in prompts)


def test_a_counter_that_gives_up_is_not_asked_again():
    calls = []

    def gone(text):
        calls.append(text)

    prompts = build(gone, seed=1, stream="c8", tokens=256, n=4)
    assert len(calls) == 1
    assert not any(prompt.counted for prompt in prompts)


def test_a_counter_that_can_never_be_met_ends_after_a_few_tries():
    calls = []

    def in_dozens(text):
        calls.append(text)
        return 12 * (1 + len(text.split()) // 12)

    (prompt,) = build(in_dozens, seed=1, stream="c8", tokens=100, n=1)
    assert len(calls) <= TRIES
    assert not prompt.exact(100)
    assert prompt.tokens in (96, 108)


def test_the_chat_template_is_part_of_the_asked_length():
    warmup = SizedPrompt(text="…", tokens=64, counted=True)
    overhead = template_tokens(warmup, 95)
    assert overhead == 31
    prompts = build(by_piece, seed=1, stream="c8", tokens=128, n=4, overhead=overhead)
    assert {by_piece(prompt.text) + overhead for prompt in prompts} == {128}


def test_no_overhead_is_made_up_from_an_estimate_or_a_missing_usage():
    assert template_tokens(SizedPrompt(text="…", tokens=64, counted=False), 95) == 0
    assert template_tokens(SizedPrompt(text="…", tokens=64, counted=True), None) == 0


def test_a_warm_up_teaches_the_length_of_a_token():
    assert calibrated("word " * 100, 125)("word " * 200) == 250


def test_the_text_is_prose_with_an_instruction_at_its_end():
    (prompt,) = build(by_word, seed=3, stream="c8", tokens=200, n=1)
    sentences = prompt.text.split(". ")
    assert len(sentences) > 8
    assert prompt.text.endswith("Go on with this account in the same manner, at length.")
    assert all(sentence[0].isupper() for sentence in sentences[1:])

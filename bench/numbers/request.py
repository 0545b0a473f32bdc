"""The numbers of one request, from its sample. What cannot be measured is None, never 0."""

from __future__ import annotations

import msgspec

from bench.sample import Sample


def tpot(sample: Sample) -> float | None:
    """TPOT in seconds: the time from the first text to the last, ÷ the tokens that came in it.

    The tokens of the first chunk were there when the clock started, so they are taken off: as many
    as the server told (token ids, a running count), else one, as vllm bench and AIPerf do. With
    several tokens a chunk and nothing told, one is too few and the result a little too low: the
    level then carries ``first_chunk_unknown`` and `tpot_if_even`.
    """
    return tpot_after(sample, float(sample.first_chunk_tokens or 1))


def tpot_after(sample: Sample, first: float) -> float | None:
    """TPOT if the first chunk held `first` tokens."""
    if sample.first_token is None or sample.last_token is None or not sample.output_tokens:
        return None
    if sample.chunks < 2 or sample.output_tokens <= first:
        return None
    return (sample.last_token - sample.first_token) / (sample.output_tokens - first)


def decode_speed(sample: Sample) -> float | None:
    """Tokens a second while the answer is being written: 1 ÷ TPOT."""
    return _inverse(tpot(sample))


def prefill_speed(sample: Sample) -> float | None:
    """Prompt tokens (the server's count, template included) ÷ TTFT."""
    if sample.prompt_tokens is None or not sample.first_token:
        return None
    return sample.prompt_tokens / sample.first_token


def speed_with_wait(sample: Sample) -> float | None:
    """Output tokens ÷ E2E latency: the wait for the first one included."""
    if not sample.output_tokens or not sample.last_token:
        return None
    return sample.output_tokens / sample.last_token


class AnswerSpeed(msgspec.Struct, frozen=True, kw_only=True):
    """How fast an answer was written, for readers of any language."""

    tokens_per_second: float | None
    characters_per_second: float | None
    characters: int
    """Unicode code points of the answer that are no whitespace; thinking is no answer."""
    characters_per_token: float | None
    """Depends on tokenizer and language: why tokens are no measure of Chinese."""


def answer_speed(sample: Sample) -> AnswerSpeed:
    """Speed of one answer in tokens and in characters.

    Characters a second are tokens a second × characters a token. Where thinking came first and the
    server did not tell how many tokens it took, characters a token are not known and the speed is
    the answer's characters ÷ the time from its first to its last text.
    """
    count = characters(sample.text)
    tokens = _answer_tokens(sample)
    share = count / tokens if count and tokens else None
    speed = decode_speed(sample)
    return AnswerSpeed(
        tokens_per_second=speed,
        characters_per_second=speed * share if speed and share else _by_time(sample, count),
        characters=count,
        characters_per_token=share,
    )


def characters(text: str) -> int:
    """Unicode code points that are no whitespace."""
    return sum(not character.isspace() for character in text)


def _answer_tokens(sample: Sample) -> int | None:
    if not sample.reasoning or sample.output_tokens is None:
        return sample.output_tokens
    if sample.reasoning_tokens is None:
        return None
    return sample.output_tokens - sample.reasoning_tokens


def _by_time(sample: Sample, count: int) -> float | None:
    if not count or sample.first_answer is None or sample.last_token is None:
        return None
    seconds = sample.last_token - sample.first_answer
    return count / seconds if seconds > 0 else None


def _inverse(value: float | None) -> float | None:
    return 1 / value if value else None

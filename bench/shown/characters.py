"""Speed in characters: tokens are no measure of Chinese, which each model cuts in its own way."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import msgspec

from bench import chinese
from bench.numbers import request
from bench.results import Result


class Chinese(msgspec.Struct, frozen=True, kw_only=True):
    """How fast a model writes Chinese, medians of its answers to the zh-TW prompts."""

    per_second: float
    """Characters a second, whitespace left out (`request.answer_speed`)."""
    per_token: float | None
    """Characters a token; None where thinking hides it."""


def of(result: Result) -> Chinese | None:
    """None for a model that writes no Chinese: its letters are no characters."""
    kept = [one for one in result.answers if one.language == "zh-TW" and one.sample.ok]
    able = chinese.can_write([one.sample.text for one in kept], [one.question for one in kept])
    if able.level == "no":
        return None
    speeds = [request.answer_speed(one.sample) for one in kept]
    seconds = [one.characters_per_second for one in speeds if one.characters_per_second]
    tokens = [one.characters_per_token for one in speeds if one.characters_per_token]
    if not seconds:
        return None
    return Chinese(per_second=median(seconds), per_token=median(tokens) if tokens else None)


def reading(results: Sequence[Result], line: float) -> tuple[float, float] | None:
    """A reading speed in tokens a second as characters a second: lowest and highest of models."""
    known = [found.per_token for result in results if (found := of(result))]
    shares = [share for share in known if share]
    return (line * min(shares), line * max(shares)) if shares else None

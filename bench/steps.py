"""The steps of a workload, in the order of measuring: a plan's table of contents."""

from __future__ import annotations

from typing import Literal

import msgspec

from bench.catalogue import Workload

DECODE_PROMPT = 64
"""Tokens of prompt before the decode test: short, so that it measures writing and not reading."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One level: ``requests`` streamed requests at one concurrency."""

    kind: Literal["prefill", "decode", "sweep"]
    name: str
    """``pp2048``, ``tg128``, ``c8``."""
    concurrency: int
    requests: int
    warmups: int
    """Requests sent before and thrown away; for a sweep the most rounds of warming."""
    prompt_tokens: int
    output_tokens: int
    repeat: int = 1


def steps(workload: Workload) -> tuple[Step, ...]:
    """The prompt set, one request at a time, then the sweep, as often as it is repeated."""
    prefill = tuple(
        Step(
            kind="prefill",
            name=f"pp{tokens}",
            concurrency=1,
            requests=workload.measured,
            warmups=workload.warmups,
            prompt_tokens=tokens,
            output_tokens=1,
        )
        for tokens in workload.prefill
    )
    decode = Step(
        kind="decode",
        name=f"tg{workload.decode}",
        concurrency=1,
        requests=workload.measured,
        warmups=workload.warmups,
        prompt_tokens=DECODE_PROMPT,
        output_tokens=workload.decode,
    )
    sweep = tuple(
        Step(
            kind="sweep",
            name=f"c{level}",
            concurrency=level,
            requests=max(workload.requests, level),
            warmups=workload.warmups,
            prompt_tokens=workload.prompt_tokens,
            output_tokens=workload.output_tokens,
            repeat=repeat,
        )
        for repeat in range(1, workload.repeats + 1)
        for level in workload.levels
    )
    return (*prefill, decode, *sweep)


def tokens_needed(workload: Workload) -> int:
    """Context that one request of this workload needs at most, template left aside."""
    answers = 512 + workload.answer_tokens if workload.answers else 0
    return max(answers, *(step.prompt_tokens + step.output_tokens for step in steps(workload)))

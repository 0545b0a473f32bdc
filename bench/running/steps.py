"""The steps of a workload, in the order of measuring: a plan's table of contents."""

from __future__ import annotations

from typing import Literal

import msgspec

from bench.catalogue import Workload
from bench.numbers import method

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


def steps(workload: Workload, seed: int = 0) -> tuple[Step, ...]:
    """The prompt set, one request at a time, then the sweep, as often as it is repeated.

    ``seed`` decides the order of the levels where the workload asks for one that spares the
    machine; each repeat has its own.
    """
    prefill = tuple(_alone(workload, "prefill", f"pp{n}", n, 1) for n in workload.prefill)
    decode = _alone(workload, "decode", f"tg{workload.decode}", DECODE_PROMPT, workload.decode)
    sweep = tuple(
        level_step(workload, level, repeat)
        for repeat in range(1, workload.repeats + 1)
        for level in _order(workload, seed + repeat)
    )
    return (*prefill, decode, *sweep)


def level_step(workload: Workload, level: int, repeat: int = 1) -> Step:
    """One level of the sweep."""
    return Step(
        kind="sweep",
        name=f"c{level}",
        concurrency=level,
        requests=max(workload.requests, level),
        warmups=workload.warmups,
        prompt_tokens=workload.prompt_tokens,
        output_tokens=workload.output_tokens,
        repeat=repeat,
    )


def _alone(
    workload: Workload,
    kind: Literal["prefill", "decode"],
    name: str,
    prompt_tokens: int,
    output_tokens: int,
) -> Step:
    return Step(
        kind=kind,
        name=name,
        concurrency=1,
        requests=workload.measured,
        warmups=workload.warmups,
        prompt_tokens=prompt_tokens,
        output_tokens=output_tokens,
    )


def _order(workload: Workload, seed: int) -> tuple[int, ...]:
    return (
        method.order(workload.levels, seed) if workload.order == "heat_aware" else workload.levels
    )


def tokens_needed(workload: Workload) -> int:
    """Context that one request of this workload needs at most, template left aside."""
    answers = 512 + workload.answer_tokens if workload.answers else 0
    return max(answers, *(step.prompt_tokens + step.output_tokens for step in steps(workload)))

"""Scenarios of the truth benchmark in which meters go wrong though their clocks are right."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median

import httpx
import msgspec

from bench.load import run_level
from bench.request import tpot
from bench.sample import Sample
from bench.target import Ask, Target, chat_body

STREAMS, TOKENS = 8, 32
TOLERANCE_MS = 10.0
"""Of a time; a TPOT is held to a hundredth of it."""


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One figure: what is true and what the meter says, in milliseconds."""

    name: str
    true: float
    ours: float
    right: bool


async def all_of_them(url: str) -> list[Case]:
    """Against a server of TTFT 200 ms and 20 ms a token."""
    role = await _samples(url, "mock?role=early&role_ms=0")
    many = await _samples(url, "mock?tokens_per_chunk=4")
    thinking = await _samples(url, "mock?thinking_tokens=16&answer_ms=100")
    slow = await _samples(url, f"mock?slow_first={STREAMS}&slow_first_ms=800", 2 * STREAMS)
    return [
        _case("role chunk sent at once, TTFT", 200, _middle(role, lambda s: s.first_token)),
        _case("4 tokens a chunk, TPOT", 20, _middle(many, tpot), TOLERANCE_MS / 100),
        _case("thinking first, TTFT", 200, _middle(thinking, lambda s: s.first_token)),
        _case("thinking first, TTFA", 620, _middle(thinking, lambda s: s.first_answer)),
        _case("slow first wave, worst TTFT", 1000, 1000 * max(s.first_token or 0 for s in slow)),
        _case("slow first wave, best TTFT", 200, 1000 * min(s.first_token or 0 for s in slow)),
    ]


async def _samples(url: str, model: str, requests: int = STREAMS) -> tuple[Sample, ...]:
    async with httpx.AsyncClient() as client:
        await client.get(f"{url}/truth/reset")
    target = Target(url=url, model=model)
    asks = [
        Ask(id=str(n), body=chat_body(target, f"{n} {model}", TOKENS), output_tokens=TOKENS)
        for n in range(requests)
    ]
    return (await run_level(target, asks, concurrency=STREAMS)).samples


def _middle(samples: Sequence[Sample], of: Callable[[Sample], float | None]) -> float:
    """Median of a time in milliseconds; not a number when a sample has none."""
    values = [of(sample) for sample in samples]
    return 1000 * median(float("nan") if value is None else value for value in values)


def _case(name: str, true: float, ours: float, tolerance: float = TOLERANCE_MS) -> Case:
    return Case(name=name, true=true, ours=ours, right=abs(ours - true) <= tolerance)

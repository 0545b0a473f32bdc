"""Scenarios of the truth benchmark in which meters go wrong though their clocks are right.

As in the levels, truth is the server's log and not its settings: on a busy machine the server
itself is late, and a meter that says so is right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any

import httpx
import msgspec

from bench.meter.load import run_level
from bench.meter.target import Ask, Target, chat_body
from bench.numbers.request import tpot
from bench.sample import Sample

STREAMS, TOKENS, THINKING = 8, 32, 16
TIME_MS, TPOT_MS = 2.0, 0.1
"""What a time and a TPOT may be off."""

Record = Mapping[str, Any]
Pairs = Sequence[tuple[Sample, Record]]
Of = Callable[[Sample], float | None]
True_ = Callable[[Record], float]
Pick = Callable[[Sequence[float]], float]


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One figure: what is true and what the meter says, in milliseconds."""

    name: str
    true: float
    ours: float
    right: bool


async def all_of_them(url: str) -> list[Case]:
    """Against a mock engine of TTFT 200 ms and 20 ms a token."""
    role = await _pairs(url, "mock?role=early&role_ms=0")
    many = await _pairs(url, "mock?tokens_per_chunk=4")
    thinking = await _pairs(url, f"mock?thinking_tokens={THINKING}&answer_ms=100")
    slow = await _pairs(url, f"mock?slow_first={STREAMS}&slow_first_ms=800", 2 * STREAMS)
    return [
        case("role chunk sent at once, TTFT", role, _ttft, true_ttft, median, TIME_MS),
        case("4 tokens a chunk, TPOT", many, tpot, true_tpot, median, TPOT_MS),
        case("thinking first, TTFT", thinking, _ttft, true_ttft, median, TIME_MS),
        case("thinking first, TTFA", thinking, _ttfa, true_ttfa, median, TIME_MS),
        case("slow first wave, worst TTFT", slow, _ttft, true_ttft, max, TIME_MS),
        case("slow first wave, best TTFT", slow, _ttft, true_ttft, min, TIME_MS),
    ]


def case(name: str, pairs: Pairs, of: Of, true_of: True_, pick: Pick, allowed: float) -> Case:
    """One figure of all requests, by the meter and by the server's log."""
    values = [of(sample) for sample, _ in pairs]
    ours = 1000 * pick([float("nan") if value is None else value for value in values])
    true = 1000 * pick([true_of(record) for _, record in pairs])
    return Case(name=name, true=true, ours=ours, right=abs(ours - true) <= allowed)


def true_ttft(record: Record) -> float:
    first: float = record["sent"][0] - record["arrived"]
    return first


def true_ttfa(record: Record) -> float:
    """The chunk after the thinking, one token a chunk."""
    answer: float = record["sent"][THINKING] - record["arrived"]
    return answer


def true_tpot(record: Record) -> float:
    """Seconds from the first chunk to the last, ÷ the tokens that came after the first chunk."""
    seconds: float = record["sent"][-1] - record["sent"][0]
    tokens: int = sum(record["tokens"][1:])
    return seconds / tokens


def _ttft(sample: Sample) -> float | None:
    return sample.first_token


def _ttfa(sample: Sample) -> float | None:
    return sample.first_answer


async def _pairs(url: str, model: str, requests: int = STREAMS) -> Pairs:
    """Samples with the server's record of the same request."""
    target = Target(url=url, model=model)
    asks = [
        Ask(id=str(n), body=chat_body(target, f"{n} {model}", TOKENS), output_tokens=TOKENS)
        for n in range(requests)
    ]
    async with httpx.AsyncClient() as client:
        await client.get(f"{url}/truth/reset")
        level = await run_level(target, asks, concurrency=STREAMS)
        told = (await client.get(f"{url}/truth/stats")).json()["requests"]
    records = {record["id"]: record for record in told}
    return [(sample, records[sample.id]) for sample in level.samples]

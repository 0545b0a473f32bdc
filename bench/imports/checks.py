"""Numbers that cannot be right: those that break their own file, arithmetic or physics.

Such a number is kept with its reason and used nowhere. The rules are few and each leaves room for
rounding and for averages of unequal requests; what they catch is wrong, not merely unlikely.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import msgspec

from bench.errors import Fault
from bench.imports.numbers import value
from bench.imports.values import Found, Number, Part, Stat, doubt
from bench.machine.host import GB10_BANDWIDTH
from bench.numbers.physics import IMPOSSIBLE
from bench.numbers.stats import TAILS, carries

ORDER: tuple[Stat, ...] = ("best", "p50", "p90", "p95", "p99", "worst")
ROUNDING = 1.005
TOTAL = 0.05
"""Share by which a rate and the total that it should make may differ."""
UNEQUAL = 1.25
"""All users together may exceed users × one user's speed by this, when requests are unequal."""


def judged(found: Found) -> Found:
    """`found` with the numbers in doubt that cannot be right."""
    parts = tuple(_part(part) for part in found.parts)
    if "GB10" in (found.machine or "") and found.size_bytes:
        bytes_per_token = found.size_bytes * (found.active_share or 1.0)
        parts = tuple(_ceiling(part, GB10_BANDWIDTH / bytes_per_token) for part in parts)
    return msgspec.structs.replace(found, parts=parts)


def _part(part: Part) -> Part:
    if not part.ok and part.failed:
        return _marked(part, part.numbers, doubt("nothing_completed"))
    for rule in (_few, _ordered, _mean_between, _first_before_last, _total, _together):
        part = rule(part)
    return part


def _few(part: Part) -> Part:
    """A tail that so few requests cannot carry is no more than the largest of them."""
    n = part.ok
    for name, share in TAILS.items():
        if n and not carries(n, share):
            tail = [one for one in part.numbers if one.stat == name and one.metric != "gap"]
            part = _marked(part, tail, doubt("few", n=n, name=name.upper()))
    return part


def _ordered(part: Part) -> Part:
    """A median above the P99 and their like: one of the two is wrong, and none is believed."""
    for metric in _metrics(part):
        known = [one for stat in ORDER for one in _good(part, metric, stat)]
        for low, high in pairwise(known):
            if (low.value or 0) > (high.value or 0) * ROUNDING:
                part = _marked(part, (low, high), doubt("order", low=low.key, high=high.key))
    return part


def _mean_between(part: Part) -> Part:
    for metric in _metrics(part):
        best, worst = (value(part.numbers, metric, stat) for stat in ("best", "worst"))
        for mean in _good(part, metric, "mean"):
            low = best is not None and (mean.value or 0) * ROUNDING < best
            high = worst is not None and (mean.value or 0) > worst * ROUNDING
            if low or high:
                part = _marked(part, (mean,), doubt("outside"))
    return part


def _first_before_last(part: Part) -> Part:
    """The first token cannot come after the last one."""
    for stat in ("p50", "mean", "best", "worst"):
        first, last = (_good(part, metric, stat) for metric in ("ttft", "e2e"))
        if first and last and (first[0].value or 0) > (last[0].value or 0) * ROUNDING:
            part = _marked(part, (first[0], last[0]), doubt("first_after_last"))
    return part


def _total(part: Part) -> Part:
    """Tokens a second × seconds are the tokens."""
    rate = _good(part, "throughput_all", "value")
    tokens = value(part.numbers, "output_tokens", "mean")
    if not (rate and tokens and part.duration and part.ok):
        return part
    expected, made = tokens * part.ok, (rate[0].value or 0) * part.duration
    if abs(made - expected) > TOTAL * expected:
        reason = doubt("total", made=round(made), expected=round(expected))
        return _marked(part, rate, reason)
    return part


def _together(part: Part) -> Part:
    """All users together write no faster than each of them times their number."""
    rate, each = _good(part, "throughput_all", "value"), _good(part, "decode_speed", "mean")
    tokens = value(part.numbers, "output_tokens", "mean")
    if not (rate and each and tokens and tokens > 1) or "concurrency_estimated" in part.flags:
        return part
    users = max(part.concurrency, part.peak_concurrency or 0)
    most = users * (each[0].value or 0) * tokens / (tokens - 1)
    if (rate[0].value or 0) > most * UNEQUAL:
        reason = doubt("together", users=users, most=f"{most:,.0f}")
        return _marked(part, (*rate, *each), reason)
    return part


def _ceiling(part: Part, ceiling: float) -> Part:
    """One user's decode speed beside what the memory of a DGX Spark allows."""
    if part.concurrency != 1 or (value(part.numbers, "tokens_per_chunk", "mean") or 1) > 1.05:
        return part
    speeds = [
        one
        for one in _good(part, "decode_speed", "mean")
        if (one.value or 0) > ceiling * IMPOSSIBLE
    ]
    return _marked(part, speeds, doubt("ceiling", ceiling=f"{ceiling:,.1f}"))


def _metrics(part: Part) -> list[str]:
    return list(dict.fromkeys(one.metric for one in part.numbers))


def _good(part: Part, metric: str, stat: Stat) -> list[Number]:
    return [
        one
        for one in part.numbers
        if one.metric == metric and one.stat == stat and one.doubt is None
    ]


def _marked(part: Part, wrong: Iterable[Number], reason: Fault) -> Part:
    chosen = {id(one) for one in wrong}
    numbers = tuple(
        msgspec.structs.replace(one, doubt=reason) if id(one) in chosen and not one.doubt else one
        for one in part.numbers
    )
    return msgspec.structs.replace(part, numbers=numbers)

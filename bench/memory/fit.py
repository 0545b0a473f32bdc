"""Does it fit, now? A model's needs against what this machine has left, with the reason.

Memory is read from ``/proc/meminfo`` alone (`host.py`), needs are added up in `need.py`. Each rule
below sees one thing that can go wrong; the verdict is the worst that any of them gives. What is
unknown is said, never guessed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec

from bench.errors import Fault, Field
from bench.machine.host import GIB, Host
from bench.memory.need import UNKNOWN_ROOM, Load, Need
from bench.memory.need import of as needs
from bench.memory.weights import Weights
from engines import Recipe

Verdict = Literal["ready", "tight", "wont_fit"]
How = Literal["measured", "read", "published", "calculated", "set", "allowance", "unknown"]
"""How a figure is known: from this machine, from the model's files, from their publisher, by a
formula, from a setting, or by an allowance of ours (`need.RESERVE`)."""

COMFORT = 0.05
"""Ready asks for at least this share of all memory to spare; less is tight."""


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the calculation."""

    what: str
    """``weights``, ``cache``, ``state``, ``reserve``, ``share``, ``total``, ``available``,
    ``free``, ``page_cache``, ``floor``: words are at ``fit.items.<what>``."""
    bytes: int | None
    how: How


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """What one rule saw, and what to do about it."""

    verdict: Verdict
    seen: Fault
    """A sentence: `Words.fault` says it."""
    remedy: Fault | None = None
    share: float | None = None
    """A share of all memory that fits now."""
    context: int | None = None
    """Tokens of context that fit now."""


class Fit(msgspec.Struct, frozen=True, kw_only=True):
    verdict: Verdict
    items: tuple[Item, ...]
    findings: tuple[Finding, ...]
    """Worst first."""
    share: float | None = None
    context: int | None = None
    full_requests: float | None = None
    """Requests of full context for which the cache has room; None where that is unknown, or where
    the slots decide it."""


def check(
    host: Host, weights: Weights, recipe: Recipe, load: Load | None = None, floor: int = 4 * GIB
) -> Fit:
    """Judge a launch of ``recipe`` with ``weights`` on ``host`` as it is now.

    ``floor`` is MemAvailable in bytes at which the watchdog stops an engine: it is kept free.
    """
    need = needs(host, weights, recipe, load, floor)
    findings = [found for rule in _RULES if (found := rule(need))]
    findings.sort(key=lambda found: _SEVERITY.index(found.verdict))
    one = need.cache(need.context, 1)
    return Fit(
        verdict=findings[0].verdict if findings else "ready",
        items=_items(need),
        findings=(*findings, *_holders(findings, host)),
        share=next((found.share for found in findings if found.share), None),
        context=next((found.context for found in findings if found.context), None),
        full_requests=max(0, need.room) / one if need.flag and need.exact and one else None,
    )


def gib(size: float) -> str:
    """Bytes as a reader sees them: ``16.5``, and ``0.09`` for little."""
    return f"{size / GIB:.1f}" if abs(size) >= GIB / 10 else f"{size / GIB:.2f}"


def _share_too_large(need: Need) -> Finding | None:
    """The budget would push the machine under its floor."""
    if not need.flag or need.budget <= need.most:
        return None
    fits = need.least <= need.best_share * need.host.memory.total
    return Finding(
        verdict="wont_fit",
        seen=_fault("share_too_large", flag=need.flag, share=need.share, wanted=gib(need.budget),
                    available=gib(need.host.memory.available), floor=gib(need.floor)),
        remedy=_set_share(need, need.best_share) if fits else _FREE,
        share=need.best_share if fits else None,
    )  # fmt: skip


def _model_too_large(need: Need) -> Finding | None:
    """Weights, engine and the least cache exceed what there is."""
    limit = min(need.budget, need.most)
    if need.least <= limit:
        return None
    cache = gib(need.held) if _counted(need) else "?"
    seen = _fault("model_too_large", need=gib(need.least), weights=gib(need.weights), cache=cache,
                  reserve=gib(need.reserve), limit=gib(limit), floor=gib(need.floor))  # fmt: skip
    if need.flag and limit < need.least <= need.best_share * need.host.memory.total:
        return Finding(
            verdict="wont_fit",
            seen=seen,
            remedy=_set_share(need, need.enough_share),
            share=need.enough_share,
        )
    context = _context(need)
    remedy = _fault("lower_context", context=context) if context else _FREE
    return Finding(verdict="wont_fit", seen=seen, remedy=remedy, context=context)


def _load_over_room(need: Need) -> Finding | None:
    """The top level of the measurement would queue for cache."""
    if not need.flag or not need.load or need.room < need.held:
        return None
    if need.used <= need.room:
        return None
    better = need.enough_share > need.share
    return Finding(
        verdict="tight",
        seen=_fault("load_over_room", need=gib(need.used), room=gib(need.room),
                    concurrency=need.load.concurrency),
        remedy=_set_share(need, need.enough_share) if better else None,
        share=need.enough_share if better else None,
    )  # fmt: skip


def _page_cache(need: Need) -> Finding | None:
    """Enough is available, but part of it is page cache, which CUDA counts as used on a GB10."""
    memory = need.host.memory
    if not need.flag or need.budget > need.most or need.budget <= memory.free:
        return None
    return Finding(
        verdict="tight",
        seen=_fault("page_cache", cache=gib(memory.page_cache), free=gib(memory.free),
                    wanted=gib(need.budget)),
        remedy=_fault("drop_cache"),
    )  # fmt: skip


def _little_spare(need: Need) -> Finding | None:
    spare = need.most - (need.budget if need.flag else need.least)
    if not 0 <= spare < COMFORT * need.host.memory.total:
        return None
    return Finding(
        verdict="tight",
        seen=_fault("little_spare", spare=gib(spare), floor=gib(need.floor)),
        remedy=_FREE,
    )


def _unknown_part(need: Need) -> Finding | None:
    if need.exact:
        return None
    roomy = need.room - need.held >= UNKNOWN_ROOM * need.weights
    name = need.shape.unknown or ("state" if need.shape.state_layers else "kv-cache-dtype")
    code = "unknown_state" if name == "state" else "unknown_cache"
    fields: dict[str, Field] = {"layers": need.shape.state_layers, "name": name}
    return Finding(verdict="ready" if roomy else "tight", seen=_fault(code, **fields))


_SEVERITY: tuple[Verdict, ...] = ("wont_fit", "tight", "ready")
_RULES: tuple[Callable[[Need], Finding | None], ...] = (
    _share_too_large,
    _model_too_large,
    _load_over_room,
    _page_cache,
    _little_spare,
    _unknown_part,
)
_FREE = Fault(code="fit.free_memory")


def _holders(findings: list[Finding], host: Host) -> list[Finding]:
    """Who holds memory, said when something is short."""
    if all(found.verdict == "ready" for found in findings):
        return []
    named = []
    for held in host.holders:
        where = f" [{held.container}]" if held.container else ""
        code = "holder_gpu" if held.gpu else "holder"
        seen = _fault(code, name=f"{held.name}{where}", pid=held.pid, size=gib(held.bytes))
        named.append(Finding(verdict="ready", seen=seen))
    return named


def _context(need: Need) -> int | None:
    """The longest context that fits, in whole thousands (1024) of tokens; None if none does."""
    limit = min(need.budget, need.most) - need.weights - need.reserve
    requests = 1 if need.flag else need.slots
    steps = need.context // 1024
    if not need.exact or steps < 1 or need.cache(1024, requests) > limit:
        return None
    fitting = (n for n in range(steps, 0, -1) if need.cache(n * 1024, requests) <= limit)
    return next(fitting) * 1024


def _set_share(need: Need, share: float) -> Fault:
    return _fault("set_share", flag=need.flag or "", share=f"{share:.2f}")


def _fault(code: str, **fields: Field) -> Fault:
    return Fault(code=f"fit.{code}", fields=fields)


def _counted(need: Need) -> bool:
    """Whether the cache, or its part of known size, can be calculated."""
    return need.exact or bool(need.shape.full_layers)


def _items(need: Need) -> tuple[Item, ...]:
    memory = need.host.memory
    share = [Item(what="share", bytes=need.budget, how="set")] if need.flag else []
    state = [Item(what="state", bytes=None, how="unknown")] if need.shape.state_layers else []
    return (
        Item(
            what="weights", bytes=need.weights, how="published" if need.published else "read"
        ),
        Item(what="cache", bytes=need.used if _counted(need) else None,
             how="calculated" if _counted(need) else "unknown"),
        *state,
        Item(what="reserve", bytes=need.reserve, how="allowance"),
        *share,
        Item(what="total", bytes=memory.total, how="measured"),
        Item(what="available", bytes=memory.available, how="measured"),
        Item(what="free", bytes=memory.free, how="measured"),
        Item(what="page_cache", bytes=memory.page_cache, how="measured"),
        Item(what="floor", bytes=need.floor, how="set"),
    )  # fmt: skip

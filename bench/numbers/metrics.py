"""From the samples of a level to its numbers. Pure; every formula is in docs/measuring.md.

The formulas of one request are in `request.py`, ramp and steady state in `phases.py`.

Failed requests are counted and are in no latency and no rate. What cannot be measured is None.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from statistics import median
from typing import Literal

import msgspec

from bench.numbers.phases import phases, silence
from bench.numbers.request import decode_speed, prefill_speed, speed_with_wait, tpot, tpot_after
from bench.numbers.stats import mean, quantiles, wilson
from bench.sample import CountSource, LevelRun, Sample
from bench.summary import LevelSummary, Quantiles

SHORT = 0.05
"""An output that misses the plan by more than this share is short, or long."""
PROMPT = 0.02
"""Planned and real prompt lengths that differ by more than this share are shown to differ."""
CACHED = 0.01
"""Above this share of prompt tokens from the cache a level is marked."""
MANY = 1.05
"""With more tokens a chunk than this, chunks are not tokens."""
SILENCE = 1.0
"""Seconds without any text, and ten times the usual gap: the engine stood still."""
LADDER: tuple[CountSource, ...] = ("token_ids", "usage", "timings", "tokenizer", "chunks")


def summarise(
    run: LevelRun,
    *,
    kind: Literal["prefill", "decode", "answers", "sweep"],
    name: str,
    repeat: int = 1,
    prompt_tokens_planned: int | None = None,
    output_tokens_planned: int | None = None,
    slots: int | None = None,
    template_tokens: int = 0,
    cached_by_counters: float | None = None,
    power: float | None = None,
) -> LevelSummary:
    """The numbers of one level, or of one test of the prompt set.

    `template_tokens` is how much of each prompt is the same chat template for every request: that
    much may come from a cache without a mark. `cached_by_counters` is the share of prompt tokens
    that the engine's own counters say came from its cache, where its answers don't tell. `power` is
    the GPU's mean while the level was measured, in watts.
    """
    ok = [sample for sample in run.samples if sample.ok]
    failed = [s for s in run.samples if not s.ok and s.error_kind != "cancelled"]
    parts = phases(run)
    source = _source(ok)
    whole = _per_second(_total(s.output_tokens for s in ok), run.duration)
    summary = LevelSummary(
        kind=kind,
        name=name,
        concurrency=run.concurrency,
        repeat=repeat,
        asked=len(run.samples),
        ok=len(ok),
        failed=len(failed),
        errors=dict(Counter(s.error_kind or "unknown" for s in run.samples if not s.ok)),
        success=wilson(len(ok), len(ok) + len(failed)),
        duration=run.duration,
        peak_concurrency=run.peak_concurrency,
        prompt_tokens_planned=prompt_tokens_planned,
        prompt_tokens=mean(_known(ok, lambda s: s.prompt_tokens)),
        output_tokens_planned=output_tokens_planned,
        output_tokens=mean(_known(ok, lambda s: s.output_tokens)),
        short_share=_missed(ok, output_tokens_planned, source, short=True),
        long_share=_missed(ok, output_tokens_planned, source, short=False),
        finishes=dict(Counter(s.finish for s in ok if s.finish)),
        count_source=source,
        tokens_per_chunk=_tokens_per_chunk(ok),
        first_chunk_known=_first_chunk_known(ok),
        tpot_if_even=_tpot_if_even(ok),
        cache_hit=cached_by_counters if (told := _cache_hit(ok)) is None else told,
        ttfr=_quantiles(ok, lambda s: s.first_event),
        ttft=_quantiles(ok, lambda s: s.first_token),
        ttfa=_quantiles(ok, lambda s: s.first_answer),
        e2e=_quantiles(ok, lambda s: s.last_token),
        tpot=_quantiles(ok, tpot),
        gap=quantiles([gap for s in ok for gap in s.gaps], independent=False),
        queued=_quantiles(ok, lambda s: s.queued),
        prefill_speed=mean(_known(ok, prefill_speed)),
        decode_speed=mean(_known(ok, decode_speed)),
        speed_with_wait=mean(_known(ok, speed_with_wait)),
        throughput=parts.steady.throughput if parts.steady else whole,
        throughput_all=whole,
        requests_per_second=_per_second(len(ok) or None, run.duration),
        ramp=parts.ramp,
        steady=parts.steady,
        tail=parts.tail,
        silence=silence(ok),
        resent=sum(s.resent for s in run.samples),
        meter=run.meter,
        power=power,
        slots=slots,
    )
    return msgspec.structs.replace(summary, flags=_flags(summary, run, ok, template_tokens))


def _flags(
    summary: LevelSummary, run: LevelRun, ok: Sequence[Sample], template_tokens: int
) -> tuple[str, ...]:
    planned, real = summary.prompt_tokens_planned, summary.prompt_tokens
    pause, usual = summary.silence or 0.0, summary.gap.p50 or 0.0
    found = {
        "short_output": bool(summary.short_share),
        "long_output": bool(summary.long_share),
        "cached_prompts": _cached(summary, ok, template_tokens) > CACHED,
        "meter_busy": run.meter.busy,
        "queueing": summary.slots is not None and 0 < summary.slots < run.concurrency,
        "concurrency_not_reached": run.peak_concurrency < run.concurrency,
        "stopped": run.stopped,
        "stalled": pause >= SILENCE and pause >= 10 * usual,
        "chunk_counts": summary.count_source == "chunks",
        "first_chunk_unknown": summary.first_chunk_known is False,
        "prompt_length": bool(planned and real and abs(real.mean - planned) > PROMPT * planned),
    }
    return tuple(name for name, holds in found.items() if holds)


def _source(samples: Sequence[Sample]) -> CountSource | None:
    """The least sure rung of the ladder that any request stood on."""
    return max((s.count_source for s in samples if s.count_source), key=LADDER.index, default=None)


def _tokens_per_chunk(samples: Sequence[Sample]) -> float | None:
    counted = [s for s in samples if s.output_tokens and s.chunks]
    chunks = sum(s.chunks for s in counted)
    return sum(s.output_tokens or 0 for s in counted) / chunks if chunks else None


def _first_chunk_known(samples: Sequence[Sample]) -> bool | None:
    share = _tokens_per_chunk(samples)
    if share is None or share <= MANY:
        return None
    return all(s.first_chunk_tokens is not None for s in samples if tpot(s) is not None)


def _tpot_if_even(samples: Sequence[Sample]) -> float | None:
    if _first_chunk_known(samples) is not False:
        return None
    values = [
        tpot_after(s, float(s.first_chunk_tokens or s.output_tokens / s.chunks))
        for s in samples
        if s.output_tokens and s.chunks
    ]
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _missed(
    samples: Sequence[Sample], planned: int | None, source: CountSource | None, *, short: bool
) -> float | None:
    """Share of outputs that are too short, or too long; None where nothing sure is known.

    A count of chunks is a lower bound: it can prove an output too long, never too short.
    """
    counts = _known(samples, lambda s: s.output_tokens)
    if not planned or not counts or (short and source == "chunks"):
        return None
    if short:
        return sum(count < planned * (1 - SHORT) for count in counts) / len(counts)
    return sum(count > planned * (1 + SHORT) for count in counts) / len(counts)


def _cached(summary: LevelSummary, ok: Sequence[Sample], template_tokens: int) -> float:
    """The cached share, the chat template that all prompts begin with left out."""
    told = _cache_hit(ok, template_tokens)
    if told is not None or summary.cache_hit is None or summary.prompt_tokens is None:
        return told or 0.0
    return summary.cache_hit - template_tokens / summary.prompt_tokens.mean


def _cache_hit(samples: Sequence[Sample], template_tokens: int = 0) -> float | None:
    told = [s for s in samples if s.cached_tokens is not None and s.prompt_tokens]
    if not told:
        return None
    cached = sum(max(0, (s.cached_tokens or 0) - template_tokens) for s in told)
    return cached / sum(s.prompt_tokens or 0 for s in told)


def _quantiles(samples: Sequence[Sample], value: Callable[[Sample], float | None]) -> Quantiles:
    return quantiles(_known(samples, value))


def _known(samples: Sequence[Sample], value: Callable[[Sample], float | None]) -> list[float]:
    return [found for sample in samples if (found := value(sample)) is not None]


def _total(counts: Iterable[int | None]) -> int | None:
    """The sum, or None when one is missing or there are none: a part is no total."""
    found = list(counts)
    known = [count for count in found if count is not None]
    return sum(known) if found and len(known) == len(found) else None


def _per_second(count: float | None, seconds: float) -> float | None:
    return count / seconds if count is not None and seconds > 0 else None

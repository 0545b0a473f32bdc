"""Ramp, steady state and tail of a level, cut at moments that can be pointed at.

A level of `concurrency` users begins with everybody at once and ends with one after another
leaving; neither is what a user meets in between. Two moments cut it in three:

- **ramp**: from the first sending to the first successful completion. Its requests are the first
  wave: all were sent before anybody had an answer.
- **steady state**: from there to the first completion after the last sending. In it every user who
  finishes is replaced, so the level is full all the time.
- **tail**: the rest, in which nobody is replaced.

The steady state counts only when at least as many requests were sent in it as there are users (one
whole turn of everybody); otherwise there is none and the whole level is what there is. One user
alone has neither ramp nor tail: the whole level is steady. Throughput of a phase is the output
tokens that *arrived* in it, a request's tokens spread evenly over its chunks.

Where the first wave waits longer than a whole request takes and each user has few turns, the steady
state still holds some of the ramp and its throughput is a little low; that of the whole level is
lower still.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

import msgspec

from bench.numbers.stats import quantiles
from bench.sample import LevelRun, Sample
from bench.summary import Phase

ROUNDING = 1e-6
"""Seconds by which a sum of gaps may miss the moment of the last text."""


class Phases(msgspec.Struct, frozen=True, kw_only=True):
    ramp: Phase | None = None
    steady: Phase | None = None
    tail: Phase | None = None


def phases(run: LevelRun) -> Phases:
    """The three parts of a level, each None where there is none."""
    done = [sample for sample in run.samples if sample.ok and sample.first_token is not None]
    if not done:
        return Phases()
    if run.concurrency == 1:
        return Phases(steady=_phase(run, 0.0, run.duration))
    completions = sorted(finished(sample) for sample in done)
    filled = completions[0]
    last_sent = max(sample.sent for sample in run.samples)
    emptying = next((moment for moment in completions if moment > last_sent), run.duration)
    ramp = _phase(run, 0.0, filled)
    if emptying <= filled:  # one wave only: nobody was ever replaced
        return Phases(ramp=ramp, tail=_tail(run, filled))
    replaced = sum(filled <= sample.sent < emptying for sample in run.samples)
    users = min(run.concurrency, run.peak_concurrency)
    steady = _phase(run, filled, emptying) if replaced >= users else None
    return Phases(ramp=ramp, steady=steady, tail=_tail(run, emptying))


def finished(sample: Sample) -> float:
    """Seconds since the level began at which the last text of a request was there."""
    return sample.sent + (sample.last_token or sample.end or 0.0)


def arrivals(sample: Sample) -> tuple[tuple[float, float], ...]:
    """When each chunk came, in seconds since the level began, and about how many tokens it held.

    The first chunk holds what is known of it, the others share the rest evenly; with nothing known
    all are alike.
    """
    if sample.first_token is None or not sample.output_tokens:
        return ()
    times = tuple(accumulate(sample.gaps, initial=sample.sent + sample.first_token))
    first, rest = sample.first_chunk_tokens, len(times) - 1
    if first is None or not rest:
        return tuple((moment, sample.output_tokens / len(times)) for moment in times)
    later = (sample.output_tokens - first) / rest
    return ((times[0], float(first)), *((moment, later) for moment in times[1:]))


def silence(samples: Sequence[Sample]) -> float | None:
    """Longest time without any text although a request was between its first and last text.

    An engine that is stopped, or works on something else, silences all requests at once; the gaps
    of one request alone would not tell it from a slow stream.
    """
    moments = sorted({moment for sample in samples for moment, _ in arrivals(sample)})
    writing = [
        (s.sent + s.first_token, s.sent + s.last_token)
        for s in samples
        if s.first_token is not None and s.last_token is not None
    ]
    waits = sorted(((later - moment, moment, later) for moment, later in pairwise(moments)))
    for wait, before, after in reversed(waits):
        if any(begin <= before and after <= end + ROUNDING for begin, end in writing):
            return wait
    return None


def _phase(run: LevelRun, begin: float, end: float) -> Phase | None:
    """The part of `run` from `begin` to just before `end` (the level's end belongs to it)."""
    if end <= begin:
        return None
    last = end >= run.duration
    sent = [s for s in run.samples if s.ok and begin <= s.sent and (s.sent < end or last)]
    return Phase(
        n=len(sent),
        duration=end - begin,
        ttft=quantiles([s.first_token for s in sent if s.first_token is not None]),
        throughput=_rate(run.samples, begin, end, last),
    )


def _tail(run: LevelRun, begin: float) -> Phase | None:
    if run.duration <= begin:
        return None
    running = [s for s in run.samples if s.ok and finished(s) >= begin]
    return Phase(
        n=len(running),
        duration=run.duration - begin,
        ttft=quantiles([]),
        throughput=_rate(run.samples, begin, run.duration, True),
    )


def _rate(samples: Sequence[Sample], begin: float, end: float, last: bool) -> float | None:
    """Tokens per second that arrived after `begin`, up to and with `end`.

    A completion that opens a window is not in it, and the one that closes it is: so a steady state
    from one completion to another counts whole turns. The first window counts from its start.
    """
    counted = [sample for sample in samples if sample.ok]
    if any(sample.output_tokens is None for sample in counted):
        return None
    tokens = sum(
        count
        for sample in counted
        for moment, count in arrivals(sample)
        if begin < moment and (moment <= end or last)
    )
    return tokens / (end - begin)

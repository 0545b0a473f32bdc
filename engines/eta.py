"""How much longer a start may take, from this machine's past starts of the same artifact.

Without any, from the shards loaded so far, or from the model's size and a rate seen here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Literal

import msgspec

from engines.stages import ORDER, Progress

LATEST = 5
"""Past starts that count: older ones may be of another image."""
LATE = 1.25
"""A start is late when it has taken this many times what is typical."""
LEAST_SHARE = 0.05
"""Of the shards, before their pace says anything."""


class PastLoad(msgspec.Struct, frozen=True, kw_only=True):
    """One finished start: seconds in all and of each stage (`stages.durations`)."""

    seconds: float
    stages: Mapping[str, float] = msgspec.field(default_factory=dict)


class Eta(msgspec.Struct, frozen=True, kw_only=True):
    seconds: float
    """Still to go."""
    basis: Literal["past", "shards", "rate"]
    """``shards`` and ``rate`` are the weights alone: what comes after them is not known."""
    late: bool = False
    """It has taken much longer than it did before."""


def eta(
    progress: Progress,
    elapsed: float,
    past: Sequence[PastLoad] = (),
    size: int | None = None,
    rate: float | None = None,
) -> Eta | None:
    """Seconds still to go, or None where nothing tells.

    ``elapsed`` is seconds since the start; ``past`` has the newest first; ``size`` is the weights'
    bytes and ``rate`` the bytes a second at which this machine loaded a model before.
    """
    past = past[:LATEST]
    here = max(0.0, elapsed - progress.stages[-1].began)
    weights = _weights_left(progress, here)
    if past:
        left = _by_stages(progress, here, past, weights)
        typical = median(load.seconds for load in past)
        if left is None:
            left = max(0.0, typical - elapsed)
        return Eta(seconds=left, basis="past", late=elapsed > LATE * typical)
    if weights is not None:
        return Eta(seconds=weights, basis="shards")
    if size and rate and progress.stage in ("starting", "weights"):
        return Eta(seconds=max(0.0, size / rate - here), basis="rate")
    return None


def _weights_left(progress: Progress, here: float) -> float | None:
    share = progress.share
    if progress.stage != "weights" or share is None or share < LEAST_SHARE:
        return None
    return here * (1 - share) / share


def _by_stages(
    progress: Progress, here: float, past: Sequence[PastLoad], weights: float | None
) -> float | None:
    """The rest of this stage and all of the later ones; None where the past has no stages."""
    known = [load.stages for load in past if load.stages]
    if not known:
        return None

    def typical(stage: str) -> float:
        return median(stages.get(stage, 0.0) for stages in known)

    rest = max(0.0, typical(progress.stage) - here) if weights is None else weights
    later = ORDER[ORDER.index(progress.stage) + 1 :]
    return rest + sum(typical(stage) for stage in later)

"""What the memory allows: a ceiling for the speed at which one user's text can be written.

Each token needs all active weights once, and the whole KV cache, read from memory. So one user's
decode speed cannot pass bandwidth ÷ (bytes of active weights + bytes of KV cache). The bytes of
the active weights are the artifact's size × active ÷ all parameters, as if every parameter took
the same room: an estimate, and so "impossible" begins 10 % above the ceiling.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from bench.catalogue import Artifact, Model
from bench.numbers.metrics import MANY
from bench.text import Words

IMPOSSIBLE = 1.10
"""Share of the ceiling from which a count must be wrong."""
LOW = 0.25
"""Share of the ceiling below which something other than memory holds the engine back."""


class Physics(msgspec.Struct, frozen=True, kw_only=True):
    """One user's decode speed beside what the memory allows."""

    speed: float
    """Tokens a second."""
    ceiling: float
    """Tokens a second."""
    bytes_per_token: float
    kind: Literal["fine", "low", "impossible", "guessing"]
    """``guessing``: above the ceiling, as an engine may be that guesses several tokens ahead."""

    @property
    def share(self) -> float:
        return self.speed / self.ceiling


def active_bytes(model: Model, artifact: Artifact, size: int | None = None) -> float | None:
    """Bytes of the weights that one token needs; None where the catalogue does not tell.

    `size` is the artifact's real size on disk, when it is known better than by the catalogue.
    """
    whole = size or artifact.size_bytes
    if not whole:
        return None
    if not model.parameters or not model.active_parameters:
        return None
    return whole * model.active_parameters / model.parameters


def assess(
    speed: float | None,
    *,
    bandwidth: float | None,
    weights: float | None,
    cache: float = 0.0,
    tokens_per_chunk: float | None = None,
) -> Physics | None:
    """One user's decode speed against the ceiling; None where any of the three is unknown.

    `bandwidth` in bytes a second, `weights` and `cache` in bytes read for each token.
    """
    if not speed or not bandwidth or not weights:
        return None
    needed = weights + cache
    ceiling = bandwidth / needed
    return Physics(
        speed=speed,
        ceiling=ceiling,
        bytes_per_token=needed,
        kind=_kind(speed / ceiling, bool(tokens_per_chunk and tokens_per_chunk > MANY)),
    )


def _kind(share: float, guesses: bool) -> Literal["fine", "low", "impossible", "guessing"]:
    if share > IMPOSSIBLE:
        return "guessing" if guesses else "impossible"
    return "low" if share < LOW else "fine"


def energy_per_token(watts: float | None, throughput: float | None) -> float | None:
    """Joules for each token: mean power ÷ output tokens a second; None where either is unknown."""
    return watts / throughput if watts and throughput else None


def sentence(found: Physics, t: Words) -> str:
    """The ceiling, the share of it, and what to check."""
    return t(
        f"physics.{found.kind}",
        share=round(100 * found.share),
        ceiling=f"{found.ceiling:,.0f}" if found.ceiling >= 10 else f"{found.ceiling:.1f}",
        gigabytes=f"{found.bytes_per_token / 1e9:.1f}",
    )

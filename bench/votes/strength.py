"""Bradley–Terry: one scale for more than two models, from votes on pairs of them.

P(a beats b) = 1 / (1 + exp(strength_b − strength_a)); R. A. Bradley and M. E. Terry, Biometrika 39
(1952). A tie is half a win for each; two bad answers say nothing about which is better.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from bench.summary import Interval
from bench.votes.cast import ENOUGH, Vote, counted, winner

_PRIOR = 0.5
"""Half a win and half a defeat of each model against an average one, so that a model without a
defeat stays on the scale."""


class Strength(msgspec.Struct, frozen=True, kw_only=True):
    model: str
    votes: int
    """Votes and ties that it was part of."""
    strength: float
    """Log-odds against an average of these models."""
    interval: Interval
    """95 %, from the curvature of the likelihood."""
    beats_average: float
    """Chance of winning against an average of these models, 0 to 1."""
    enough: bool
    """False: too few votes to rank it."""


def strengths(votes: Sequence[Vote]) -> list[Strength]:
    """Every model in the votes that count, strongest first; empty below three models."""
    valid = [vote for vote in counted(votes) if vote.choice != "both_bad"]
    models = sorted({name for vote in valid for name in (vote.left, vote.right)})
    if len(models) < 3:
        return []
    wins = _wins(valid, models)
    fitted = minimize(_loss, np.zeros(len(models)), args=(wins,), jac=True, method="BFGS")
    scale = fitted.x - fitted.x.mean()
    errors = np.sqrt(np.diag(np.linalg.inv(_curvature(scale, wins))))
    played = (wins + wins.T).sum(axis=1)
    ranked = [
        Strength(
            model=model,
            votes=round(float(played[i])),
            strength=float(scale[i]),
            interval=Interval(
                low=float(scale[i] - 1.96 * errors[i]), high=float(scale[i] + 1.96 * errors[i])
            ),
            beats_average=float(expit(scale[i])),
            enough=bool(played[i] >= ENOUGH),
        )
        for i, model in enumerate(models)
    ]
    return sorted(ranked, key=lambda one: -one.strength)


def _wins(votes: Sequence[Vote], models: Sequence[str]) -> Any:
    """wins[i, j]: how often i beat j, ties as halves."""
    place = {model: i for i, model in enumerate(models)}
    wins = np.zeros((len(models), len(models)))
    for vote in votes:
        left, right = place[vote.left], place[vote.right]
        won = winner(vote)
        wins[left, right] += 0.5 if won is None else float(won == vote.left)
        wins[right, left] += 0.5 if won is None else float(won == vote.right)
    return wins


def _loss(strength: Any, wins: Any) -> tuple[float, Any]:
    """Negative log-likelihood with its prior, and the gradient."""
    lead = strength[:, None] - strength[None, :]
    loss = (wins * np.logaddexp(0, -lead)).sum()
    loss += _PRIOR * (np.logaddexp(0, -strength) + np.logaddexp(0, strength)).sum()
    pull = wins * expit(-lead)
    gradient = pull.sum(axis=0) - pull.sum(axis=1) + _PRIOR * (2 * expit(strength) - 1)
    return float(loss), gradient


def _curvature(strength: Any, wins: Any) -> Any:
    lead = strength[:, None] - strength[None, :]
    weight = (wins + wins.T) * expit(lead) * expit(-lead)
    own = weight.sum(axis=1) + 2 * _PRIOR * expit(strength) * expit(-strength)
    return np.diag(own) - weight

"""Blind votes: two answers to one prompt, no names, and what the votes of several people say.

Pure: values in, values out. A vote names what was left and what was right on the screen, so that a
preference for a side can be seen.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Literal

import msgspec

from bench.numbers.stats import wilson
from bench.summary import Interval

Choice = Literal["left", "right", "tie", "both_bad"]
Mark = Literal["duplicate", "too_fast"]
Outcome = Literal["first", "second", "no_difference", "open", "too_few"]
"""``open``: enough votes to look, not enough to tell. ``no_difference``: many votes, and even."""

ENOUGH = 6
"""Decided votes below which even one-sided ones say nothing (5 to 0 happens by chance)."""
MANY = 40
"""Decided votes from which an even result is called "no difference"."""
FASTEST_READER = 40.0
"""Characters a second: who votes sooner than this allows has not read both answers."""


class Vote(msgspec.Struct, frozen=True, kw_only=True):
    voter: str
    """A token of the voter's browser; never a name."""
    prompt: str
    left: str
    """Id of what was compared, e.g. a run."""
    right: str
    choice: Choice
    seconds: float
    """From showing the pair to the click."""
    characters: int
    """Length of both answers together."""
    reason: str = ""


class Duel(msgspec.Struct, frozen=True, kw_only=True):
    """Two models side by side, in the votes that count."""

    first: str
    second: str
    wins: int
    """Votes for ``first``."""
    losses: int
    ties: int
    both_bad: int
    voters: int
    share: float | None
    """Wins among the decided votes, 0 to 1."""
    interval: Interval | None
    """95 % (Wilson) interval of the share; it takes votes for independent of each other."""
    left_share: float | None
    """Share of the decided votes that went to the left side: far from 0.5 is a habit."""
    outcome: Outcome


def ballot(voter: str, prompt: str, first: str, second: str) -> tuple[str, str]:
    """Left and right for this voter: random, and the same whenever it is asked for again."""
    pair = sorted((first, second))
    return (pair[0], pair[1]) if _draw(voter, prompt, *pair) % 2 else (pair[1], pair[0])


def ballots(
    voter: str, prompts: Iterable[str], models: Iterable[str]
) -> list[tuple[str, str, str]]:
    """(prompt, left, right) of every pair of models, in an order of this voter's own."""
    pairs = combinations(sorted(set(models)), 2)
    every = [(prompt, *pair) for pair in pairs for prompt in prompts]
    every.sort(key=lambda one: _draw("order", voter, *one))
    return [(prompt, *ballot(voter, prompt, first, second)) for prompt, first, second in every]


def _draw(*parts: str) -> int:
    return int.from_bytes(hashlib.sha256("\0".join(parts).encode()).digest()[:8], "big")


def marks(votes: Sequence[Vote]) -> list[Mark | None]:
    """What is wrong with each vote, in the order given: marked votes are kept and not counted.

    ``duplicate``: this voter has voted on this pair before. ``too_fast``: nobody reads two answers
    of this length in that time.
    """
    seen: set[tuple[str, str, frozenset[str]]] = set()
    found: list[Mark | None] = []
    for vote in votes:
        ballot_of = (vote.voter, vote.prompt, frozenset((vote.left, vote.right)))
        if vote.seconds < max(1.0, vote.characters / FASTEST_READER):
            found.append("too_fast")
        elif ballot_of in seen:
            found.append("duplicate")
        else:
            seen.add(ballot_of)
            found.append(None)
    return found


def counted(votes: Sequence[Vote]) -> list[Vote]:
    return [vote for vote, mark in zip(votes, marks(votes), strict=True) if mark is None]


def duel(votes: Sequence[Vote], first: str, second: str) -> Duel:
    """The result of two models over all prompts; votes that do not count are left out."""
    between = [vote for vote in counted(votes) if {vote.left, vote.right} == {first, second}]
    decided = [vote for vote in between if vote.choice in ("left", "right")]
    wins = sum(winner(vote) == first for vote in decided)
    interval = wilson(wins, len(decided)) if decided else None
    return Duel(
        first=first,
        second=second,
        wins=wins,
        losses=len(decided) - wins,
        ties=sum(vote.choice == "tie" for vote in between),
        both_bad=sum(vote.choice == "both_bad" for vote in between),
        voters=len({vote.voter for vote in between}),
        share=wins / len(decided) if decided else None,
        interval=interval,
        left_share=(
            sum(vote.choice == "left" for vote in decided) / len(decided) if decided else None
        ),
        outcome=_outcome(len(decided), interval),
    )


def winner(vote: Vote) -> str | None:
    """Who won; None for a tie and for two bad answers."""
    return {"left": vote.left, "right": vote.right}.get(vote.choice)


def _outcome(decided: int, interval: Interval | None) -> Outcome:
    if interval is None or decided < ENOUGH:
        return "too_few"
    if interval.low > 0.5:
        return "first"
    if interval.high < 0.5:
        return "second"
    return "no_difference" if decided >= MANY else "open"

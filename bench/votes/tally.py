"""What a ballot's votes say: wins with intervals, a scale for more than two models, and how many
votes did not count. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import msgspec

from bench.errors import Field
from bench.text import Words
from bench.votes import cast as votes
from bench.votes.ballots import Ballot
from bench.votes.cast import Duel, Vote
from bench.votes.strength import Strength, strengths


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    cast: int
    counted: int
    too_fast: int
    duplicates: int
    voters: int
    duels: tuple[Duel, ...]
    """Every two entrants, in the ballot's order."""
    scale: tuple[Strength, ...]
    """Bradley–Terry, strongest first; empty below three entrants with votes."""


def tally(ballot: Ballot, cast: Sequence[Vote]) -> Tally:
    marks = votes.marks(cast)
    good = votes.counted(cast)
    pairs = combinations([one.run for one in ballot.entrants], 2)
    return Tally(
        cast=len(cast),
        counted=len(good),
        too_fast=marks.count("too_fast"),
        duplicates=marks.count("duplicate"),
        voters=len({vote.voter for vote in good}),
        duels=tuple(votes.duel(cast, first, second) for first, second in pairs),
        scale=tuple(strengths(cast)),
    )


def sentence(ballot: Ballot, duel: Duel, t: Words) -> str:
    """What the votes on two models say."""
    first, second = ballot.name(duel.first), ballot.name(duel.second)
    decided = duel.wins + duel.losses
    fields: dict[str, Field] = {"first": first, "second": second, "decided": decided}
    if duel.outcome == "too_few" or duel.interval is None:
        return t("vote.outcome.too_few", **fields, needed=votes.ENOUGH)
    winner, loser, wins = first, second, duel.wins
    low, high = duel.interval.low, duel.interval.high
    if duel.outcome == "second":
        winner, loser, wins, low, high = second, first, duel.losses, 1 - high, 1 - low
    key = "won" if duel.outcome in ("first", "second") else duel.outcome
    return t(
        f"vote.outcome.{key}",
        **fields,
        winner=winner,
        loser=loser,
        wins=wins,
        low=f"{100 * low:.0f}",
        high=f"{100 * high:.0f}",
    )


def count(found: Tally, t: Words) -> str:
    """How many votes there are and how many of them do not count."""
    said = t("vote.count", counted=found.counted, voters=found.voters)
    if out := found.cast - found.counted:
        said += t("vote.not_counted", n=out, fast=found.too_fast, twice=found.duplicates)
    return said


def duel_rows(ballot: Ballot, found: Tally, t: Words) -> list[dict[str, str]]:
    """A row for every two models."""
    return [
        {
            t("vote.column.pair"): f"{ballot.name(one.first)} – {ballot.name(one.second)}",
            t("vote.column.wins"): f"{one.wins} – {one.losses}",
            t("vote.column.ties"): str(one.ties),
            t("vote.column.both_bad"): str(one.both_bad),
            t("vote.column.left"): "–"
            if one.left_share is None
            else f"{100 * one.left_share:.0f} %",
        }
        for one in found.duels
    ]


def scale_rows(ballot: Ballot, found: Tally, t: Words) -> list[dict[str, str]]:
    """A row for each model, strongest first."""
    return [
        {
            t("vote.column.model"): ballot.name(one.model),
            t("vote.column.beats"): f"{100 * one.beats_average:.0f} %",
            t(
                "vote.column.strength"
            ): f"{one.strength:+.2f} ({one.interval.low:+.2f} – {one.interval.high:+.2f})",
            t("vote.column.votes"): str(one.votes) if one.enough else t("vote.few", n=one.votes),
        }
        for one in found.scale
    ]

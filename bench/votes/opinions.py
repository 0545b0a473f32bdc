"""Opinions of a judging model in the store, and what they say beside the votes of people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec
from sqlite_utils import Database

from bench import store
from bench.errors import Field
from bench.text import Words
from bench.votes import cast as votes
from bench.votes import opinion
from bench.votes.ballots import Ballot, Offered
from bench.votes.cast import Vote
from bench.votes.opinion import Agreement, Opinion, Verdict


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """Two stored answers to one prompt; ``first`` and ``second`` are run ids in their order."""

    prompt: str
    first: str
    second: str


class Opined(msgspec.Struct, frozen=True, kw_only=True):
    judge: str
    """The model that judged, as its server calls it."""
    rubric: str
    pair: Pair
    opinion: Opinion


class Panel(msgspec.Struct, frozen=True, kw_only=True):
    """One judge on one ballot."""

    judge: str
    rubric: str
    read: int
    """Pairs with an opinion that could be read, in both orders."""
    unread: int
    wins: Mapping[str, int]
    """By run."""
    ties: int
    both_bad: int
    shown_first: float | None
    """Share of the pairs in which it clung to the answer shown first, whichever that was."""
    shown_second: float | None
    agreement: Agreement
    """With the majority of the people's votes, over pairs that have both."""


def pairs(there: Offered) -> list[Pair]:
    """Every pair of a ballot that has both answers still."""
    return [
        Pair(prompt=prompt, first=first, second=second)
        for prompt, texts in there.items()
        for place, first in enumerate(sorted(texts))
        for second in sorted(texts)[place + 1 :]
    ]


def keep(db: Database, ballot: str, found: Opined) -> None:
    """Keep an opinion in place of an earlier one of this judge by this rubric."""
    with store.writing(db):
        db.table("opinions").insert(
            {
                "ballot": ballot,
                "judge": found.judge,
                "rubric": found.rubric,
                "at": store.now(),
                **msgspec.structs.asdict(found.pair),
                "opinion": msgspec.json.encode(found.opinion).decode(),
            },
            replace=True,
        )


def of(db: Database, ballot: str) -> list[Opined]:
    rows = db.query("select * from opinions where ballot = ? order by rowid", [ballot])
    return [
        Opined(
            judge=row["judge"],
            rubric=row["rubric"],
            pair=Pair(prompt=row["prompt"], first=row["first"], second=row["second"]),
            opinion=msgspec.json.decode(row["opinion"], type=Opinion),
        )
        for row in rows
    ]


def panels(every: Sequence[Opined], cast: Sequence[Vote]) -> list[Panel]:
    """What each judge says, and how far people agree."""
    kinds = dict.fromkeys((one.judge, one.rubric) for one in every)
    people = majority(cast)
    return [
        _panel(judge, rubric, [o for o in every if (o.judge, o.rubric) == (judge, rubric)], people)
        for judge, rubric in kinds
    ]


def _panel(judge: str, rubric: str, own: Sequence[Opined], people: Mapping[Pair, Verdict]) -> Panel:
    said = [(one.pair, one.opinion.verdict) for one in own if one.opinion.verdict is not None]
    wins = Counter(
        pair.first if verdict == "first" else pair.second
        for pair, verdict in said
        if verdict in ("first", "second")
    )
    bias = opinion.position_bias([one.opinion for one in own])
    return Panel(
        judge=judge,
        rubric=rubric,
        read=len(said),
        unread=len(own) - len(said),
        wins=wins,
        ties=sum(verdict == "tie" for _, verdict in said),
        both_bad=sum(verdict == "both_bad" for _, verdict in said),
        shown_first=bias[0] if bias else None,
        shown_second=bias[1] if bias else None,
        agreement=opinion.agreement(
            [(verdict, people[pair]) for pair, verdict in said if pair in people]
        ),
    )


def majority(cast: Sequence[Vote]) -> dict[Pair, Verdict]:
    """What most people said of each pair, by the votes that count; ``tie`` when they are even."""
    said: dict[Pair, list[Verdict]] = {}
    for vote in votes.counted(cast):
        first, second = sorted((vote.left, vote.right))
        won = votes.winner(vote)
        verdict: Verdict = "both_bad" if vote.choice == "both_bad" else "tie"
        if won is not None:
            verdict = "first" if won == first else "second"
        said.setdefault(Pair(prompt=vote.prompt, first=first, second=second), []).append(verdict)
    return {pair: _most(verdicts) for pair, verdicts in said.items()}


def _most(verdicts: Sequence[Verdict]) -> Verdict:
    (often, n), *others = Counter(verdicts).most_common(2)
    return "tie" if others and others[0][1] == n else often


def sentences(ballot: Ballot, panel: Panel, t: Words) -> list[str]:
    """An opinion in words, never as a result."""
    wins = t("charts.list_separator").join(
        t("opinion.wins", name=one.name, n=panel.wins.get(one.run, 0)) for one in ballot.entrants
    )
    fields: dict[str, Field] = {"judge": panel.judge, "rubric": panel.rubric, "wins": wins}
    said = [t("opinion.said", read=panel.read, ties=panel.ties, bad=panel.both_bad, **fields)]
    if panel.shown_first is not None and panel.shown_second is not None:
        first, second = (f"{100 * share:.0f}" for share in (panel.shown_first, panel.shown_second))
        said.append(t("opinion.bias", first=first, second=second))
    agreed = panel.agreement
    if agreed.interval is None:
        said.append(t("opinion.no_people"))
    else:
        low, high = (f"{100 * x:.0f}" for x in (agreed.interval.low, agreed.interval.high))
        kappa = "–" if agreed.kappa is None else f"{agreed.kappa:.2f}"
        fields = {"same": agreed.same, "n": agreed.n, "low": low, "high": high, "kappa": kappa}
        said.append(t("opinion.agreement", **fields))
    if panel.unread:
        said.append(t("opinion.unread", n=panel.unread))
    return said

"""Ballots and their votes in the store: two stored answers to one prompt, side by side, no names.

A ballot is made for runs that answered one set of prompts in one version. Its runs may be deleted
later: then their answers are offered no more, and the votes that were cast on them stay, under the
names that the ballot keeps. What counts and what it says is decided in `votes.py`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from sqlite_utils import Database

from bench import store
from bench.errors import BenchError
from bench.store import Run
from bench.text import Words
from bench.votes import cast as votes
from bench.votes.cast import Choice, Vote

MOST = 12
"""Pairs for one voter: about five minutes."""
LONGEST_REASON = 500

Offered = Mapping[str, Mapping[str, str]]
"""Prompt id → run id → answer; only prompts that two runs and more answered."""


class Entrant(msgspec.Struct, frozen=True, kw_only=True):
    run: str
    name: str
    """What people called it when the ballot was made; it outlives the run."""


class Ballot(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    at: str
    """UTC, ISO."""
    prompt_set: str
    entrants: tuple[Entrant, ...]
    closed: bool = False

    def name(self, run: str) -> str:
        return next((one.name for one in self.entrants if one.run == run), run)


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """What one voter sees at one time."""

    number: int
    """From 1."""
    of: int
    prompt: str
    question: str
    left: str
    """Run id; never shown."""
    right: str
    left_text: str
    right_text: str


def create(db: Database, entrants: Sequence[Entrant], prompt_set: str) -> str:
    """A new ballot's id. Raises BenchError ``ballot_nothing`` where no two of the runs answered
    one prompt of the set."""
    ballot = Ballot(
        id=store.new_id(), at=store.now(), prompt_set=prompt_set, entrants=tuple(entrants)
    )
    if not offered(db, ballot):
        raise BenchError("ballot_nothing", set=prompt_set or "–")
    with store.writing(db):
        row = msgspec.structs.asdict(ballot)
        row["entrants"] = msgspec.json.encode(ballot.entrants).decode()
        db.table("ballots").insert(row | {"closed": 0})
    return ballot.id


def load(db: Database, id: str) -> Ballot | None:
    return next(
        (_ballot(row) for row in db.query("select * from ballots where id = ?", [id])), None
    )


def named(db: Database, ballot: Ballot, t: Words) -> Ballot:
    """The ballot with the models marked whose runs were deleted."""
    there = {run.id for run in store.load(db, [one.run for one in ballot.entrants])}
    entrants = tuple(
        one if one.run in there else Entrant(run=one.run, name=t("vote.deleted", name=one.name))
        for one in ballot.entrants
    )
    return msgspec.structs.replace(ballot, entrants=entrants)


def among(db: Database, runs: Sequence[str]) -> list[Ballot]:
    """Ballots that set at least two of these runs side by side, newest first."""
    every = [_ballot(row) for row in db.query("select * from ballots order by at desc")]
    return [one for one in every if len({e.run for e in one.entrants} & set(runs)) >= 2]


def close(db: Database, id: str) -> None:
    """Take no more votes."""
    with store.writing(db):
        db.execute("update ballots set closed = 1 where id = ?", [id])


def offered(db: Database, ballot: Ballot) -> Offered:
    """The answers that are still there: the first to each prompt, failed ones left out, and of
    an id with two texts those to one of them."""
    table: dict[tuple[str, str], dict[str, str]] = {}
    for run in store.load(db, [one.run for one in ballot.entrants]):
        for asked, text in _answers(db, run, ballot.prompt_set).items():
            table.setdefault(asked, {})[run.id] = text
    fewest_first = sorted(table.items(), key=lambda one: len(one[1]))
    return {prompt: texts for (prompt, _), texts in fewest_first if len(texts) >= 2}


def _answers(db: Database, run: Run, prompt_set: str) -> dict[tuple[str, str], str]:
    """(prompt id, its text) → answer."""
    sent = {one.id: one.text for one in run.plan.prompts if one.set == prompt_set}
    return {
        (answer.prompt, answer.question): answer.sample.text.strip()
        for answer in store.answers(db, run.id)
        if answer.repeat == 1 and answer.sample.ok and sent.get(answer.prompt) == answer.question
    }


def questions(db: Database, ballot: Ballot) -> dict[str, str]:
    """The text of each prompt of the set, as the runs were sent it."""
    runs = store.load(db, [one.run for one in ballot.entrants])
    return {p.id: p.text for run in runs for p in run.plan.prompts if p.set == ballot.prompt_set}


def next_pair(
    ballot: Ballot, there: Offered, asked: Mapping[str, str], cast: Sequence[Vote], voter: str
) -> Pair | None:
    """What this voter has not voted on yet, in an order and with sides of their own; None when
    all is done. A pair whose vote did not count, as too fast, is shown again."""
    runs = [one.run for one in ballot.entrants]
    mine = [
        (prompt, left, right)
        for prompt, left, right in votes.ballots(voter, there, runs)
        if left in there[prompt] and right in there[prompt]
    ][:MOST]
    own = [vote for vote in cast if vote.voter == voter]
    done = {_pair(v.prompt, v.left, v.right) for v in votes.counted(own)}
    for number, (prompt, left, right) in enumerate(mine, 1):
        if _pair(prompt, left, right) not in done:
            return Pair(
                number=number,
                of=len(mine),
                prompt=prompt,
                question=asked.get(prompt, ""),
                left=left,
                right=right,
                left_text=there[prompt][left],
                right_text=there[prompt][right],
            )
    return None


def voted(cast: Sequence[Vote], voter: str) -> int:
    """How many votes of this voter count."""
    return len(votes.counted([vote for vote in cast if vote.voter == voter]))


def _pair(prompt: str, left: str, right: str) -> tuple[str, frozenset[str]]:
    return prompt, frozenset((left, right))


def cast(
    db: Database, ballot: str, voter: str, pair: Pair, choice: Choice, seconds: float, reason: str
) -> Vote:
    """Keep a vote. Raises BenchError ``ballot_closed`` for a ballot that takes no more."""
    vote = Vote(
        voter=voter,
        prompt=pair.prompt,
        left=pair.left,
        right=pair.right,
        choice=choice,
        seconds=seconds,
        characters=len(pair.left_text) + len(pair.right_text),
        reason=reason.strip()[:LONGEST_REASON],
    )
    with store.writing(db):
        found = load(db, ballot)
        if found is None or found.closed:
            raise BenchError("ballot_closed")
        row = {"ballot": ballot, "at": store.now(), **msgspec.structs.asdict(vote)}
        db.table("votes").insert(row)
    return vote


def votes_of(db: Database, ballot: str) -> list[Vote]:
    """Every vote in the order of casting, marked ones too."""
    rows = db.query("select * from votes where ballot = ? order by id", [ballot])
    fields = Vote.__struct_fields__
    return [msgspec.convert({name: row[name] for name in fields}, Vote) for row in rows]


def voter(ballot: str, token: str) -> str:
    """What is kept of a voter: nothing that tells who they are, nor that the same person voted in
    another ballot."""
    return hashlib.sha256(f"{ballot}\0{token}".encode()).hexdigest()[:16]


def _ballot(row: Mapping[str, Any]) -> Ballot:
    return Ballot(
        id=row["id"],
        at=row["at"],
        prompt_set=row["prompt_set"],
        entrants=msgspec.json.decode(row["entrants"], type=tuple[Entrant, ...]),
        closed=bool(row["closed"]),
    )

"""What a comparison says of Chinese: what was found, what people prefer, and whether that agrees.

Pure. Only answers to the same questions of one set and version are compared. A model that cannot
write Chinese is told as such and is in no count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from bench.chinese import Rate
from bench.errors import Field
from bench.results import Result
from bench.shown import writing, written
from bench.shown.writing import Reading, Writing
from bench.text import Words
from bench.votes import tally
from bench.votes.ballots import Ballot
from bench.votes.cast import Duel, Vote

Held = Sequence[tuple[Ballot, Sequence[Vote]]]
"""Ballots with their votes, newest first."""


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """Results on the questions that all of them answered."""

    prompt_set: str
    questions: int
    figures: Mapping[str, Writing]
    """By result id."""

    @property
    def able(self) -> list[str]:
        """Those that write Chinese, fewest findings of usage first."""
        good = [id for id, one in self.figures.items() if one.literacy.level != "no"]
        return sorted(good, key=lambda id: self.figures[id].usage.per_1000 or 0.0)


def compared(results: Sequence[Result]) -> Compared | None:
    """None unless two results answered the same questions of a set."""
    every = {result.id: writing.readings(result) for result in results}
    for prompt_set in writing.prompt_sets(results):
        first = {id: _first(read, prompt_set) for id, read in every.items()}
        first = {id: read for id, read in first.items() if read}
        common = [
            key
            for key in next(iter(first.values()), {})
            if all(key in read for read in first.values())
        ]
        if len(first) >= 2 and common:
            figures = {
                id: writing.writing([read[key] for key in common], writing.literacy(every[id]))
                for id, read in first.items()
            }
            return Compared(prompt_set=prompt_set, questions=len(common), figures=figures)
    return None


def _first(read: Sequence[Reading], prompt_set: str) -> dict[tuple[str, str], Reading]:
    """The first good answer to each question of a set, in the order of asking: an interval that is
    drawn from them is the same each time."""
    found: dict[tuple[str, str], Reading] = {}
    for one in read:
        if one.prompt.set == prompt_set and one.answer.sample.ok:
            found.setdefault((one.prompt.id, one.prompt.text), one)
    return found


def sentences(results: Sequence[Result], held: Held, t: Words) -> list[str]:
    """What to say of Chinese where results stand side by side; nothing where nothing can be."""
    found = compared(results)
    if found is None:
        return []
    names = {result.id: result.label for result in results}
    said = [
        t(
            "taste.unable",
            name=names[id],
            chinese=one.literacy.chinese,
            answers=one.literacy.answers,
        )
        for id, one in found.figures.items()
        if one.literacy.level == "no"
    ]
    if not found.able:
        return said
    said.append(_findings(found, names, t))
    chosen = _votes(found, held)
    said += [tally.sentence(ballot, duel, t) for ballot, duel in chosen]
    if disagree := _disagreement(found, [duel for _, duel in chosen]):
        liked, correct = disagree
        said.append(t("taste.disagree", liked=names[liked], correct=names[correct]))
    if len(found.able) >= 2 and not chosen:
        said.append(t("taste.no_votes"))
    return said


def clearly_fewer(better: Rate, worse: Rate) -> bool:
    """Whether the intervals of two rates are apart: rather no difference than a false one."""
    if better.interval is None or worse.interval is None:
        return False
    return better.interval.high < worse.interval.low


def _findings(found: Compared, names: Mapping[str, str], t: Words) -> str:
    best, *others = found.able
    rows = t("charts.list_separator").join(
        t(
            "taste.one",
            name=names[id],
            rate=_usage(found.figures[id], t),
            followed=_kept(found.figures[id], t),
        )
        for id in found.able
    )
    fields: dict[str, Field] = {"name": names[best], "rows": rows, "questions": found.questions}
    if not others:
        return t("taste.alone", **fields)
    clear = all(clearly_fewer(found.figures[best].usage, found.figures[id].usage) for id in others)
    return t("taste.clear" if clear else "taste.unclear", **fields)


def _usage(one: Writing, t: Words) -> str:
    return written.rate(one, one.usage, t)


def _kept(one: Writing, t: Words) -> str:
    return t("taste.followed", k=one.followed, n=one.asked) if one.asked else ""


def _votes(found: Compared, held: Held) -> list[tuple[Ballot, Duel]]:
    """For the two that write best the ballot with the most votes on them; none without votes."""
    if len(found.able) < 2:
        return []
    pair = set(found.able[:2])
    duels = [
        (ballot, duel)
        for ballot, cast in held
        if ballot.prompt_set == found.prompt_set
        for duel in tally.tally(ballot, cast).duels
        if {duel.first, duel.second} == pair and duel.voters
    ]
    return sorted(duels, key=lambda one: -(one[1].wins + one[1].losses))[:1]


def _disagreement(found: Compared, duels: Sequence[Duel]) -> tuple[str, str] | None:
    """(what people prefer, what has clearly fewer findings) where these are not the same."""
    for duel in duels:
        liked = {"first": duel.first, "second": duel.second}.get(duel.outcome)
        if liked is None:
            continue
        other = duel.second if liked == duel.first else duel.first
        if clearly_fewer(found.figures[other].usage, found.figures[liked].usage):
            return liked, other
    return None

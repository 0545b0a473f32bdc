"""What the Chinese page says of answers: rows and captions, in one language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import get_args

from bench.chinese import Rate
from bench.chinese.summary import Kind
from bench.shown.views import number
from bench.shown.writing import Reading, Writing
from bench.text import Words

KINDS: tuple[Kind, ...] = tuple(kind for kind in get_args(Kind) if kind != "instruction")


def set_name(prompt_set: str, t: Words) -> str:
    """A set as people call it; a team's own by its id."""
    key = f"zh.sets.{prompt_set or 'other'}"
    return t(key) if key in t else prompt_set


def rows(read: Mapping[str, Writing], t: Words) -> list[dict[str, str]]:
    """A table of models (by label) side by side: a row for each kind of finding."""
    lines = [
        (t("zh.row.literacy"), {n: t(f"zh.literate.{w.literacy.level}") for n, w in read.items()})
    ]
    lines.append((t("zh.row.answers"), {n: _answers(w, t) for n, w in read.items()}))
    for kind in KINDS:
        name = t("zh.row.rate", kind=t(f"chinese.kind.{kind}"))
        lines.append((name, {n: rate(w, w.rates[kind], t) for n, w in read.items()}))
    lines.append((t("zh.row.followed"), {n: followed(w, t) for n, w in read.items()}))
    return [{"\N{NO-BREAK SPACE}": name, **cells} for name, cells in lines]


def _answers(found: Writing, t: Words) -> str:
    return t("zh.cell.answers", n=found.answers, length=f"{found.length:,}")


def rate(found: Writing, of: Rate, t: Words) -> str:
    """Findings per 1,000 字 with their interval; a dash where a count would say nothing."""
    if of.per_1000 is None or found.literacy.level == "no":
        return "–"
    if of.interval is None:
        return number(of.per_1000) if of.count else t("zh.cell.nothing")
    high = number(of.interval.high)
    if not of.count:
        return t("zh.cell.none", high=high)
    low = number(of.interval.low)
    return t("zh.cell.rate", rate=number(of.per_1000), low=low, high=high)


def followed(found: Writing, t: Words) -> str:
    if found.share is None or found.literacy.level == "no":
        return "–"
    low, high = (f"{100 * value:.0f}" for value in (found.share.low, found.share.high))
    return t("zh.cell.followed", k=found.followed, n=found.asked, low=low, high=high)


def figures(one: Reading, t: Words) -> str:
    """Length, time to the first character and speed of an answer."""
    if one.first is None or one.speed is None:
        return t("zh.figures_short", length=f"{one.length:,}")
    first, speed = number(one.first), number(one.speed)
    return t("zh.figures", length=f"{one.length:,}", first=first, speed=speed)


def repeats(every: Sequence[Reading], t: Words) -> str:
    """How much the answers to one question differ that was asked several times."""
    different = len({one.answer.sample.text for one in every})
    if different == 1:
        return t("zh.repeats_same", n=len(every))
    counts = [len(one.counted) for one in every]
    low, high = min(counts), max(counts)
    return t("zh.repeats", n=len(every), different=different, low=low, high=high)


def questions(
    read: Mapping[str, Sequence[Reading]], prompt_set: str
) -> dict[str, dict[str, list[Reading]]]:
    """Question id → result id → its readings (more than one when it was asked repeatedly), in the
    prompts' order. ``read`` are all readings by result id.

    An id whose text differs is another question: then it is followed by ``~2`` and so on.
    """
    names: dict[tuple[str, str], str] = {}
    table: dict[str, dict[str, list[Reading]]] = {}
    for result, every in read.items():
        for one in every:
            if one.prompt.set != prompt_set:
                continue
            key = (one.prompt.id, one.prompt.text)
            if key not in names:
                place = 1 + sum(id == one.prompt.id for id, _ in names)
                names[key] = one.prompt.id if place == 1 else f"{one.prompt.id}~{place}"
            table.setdefault(names[key], {}).setdefault(result, []).append(one)
    return table

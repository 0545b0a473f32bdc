"""``python -m bench chinese-benchmark``: our check and other tools on the same labelled corpus."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence

import msgspec

from bench.chinese import corpus
from bench.chinese.corpus import Case
from bench.chinese.peers import Judge, ours, peers

RULES = ("simplified", "mainland_term")
"""The faults that every one of these tools is made for."""


class Score(msgspec.Struct, frozen=True, kw_only=True):
    tool: str
    right: int
    accused: int
    """Right sentences that it finds fault with."""
    planted: int
    """Planted Simplified characters and Mainland words."""
    found: int
    seconds: float
    """For the whole corpus."""


def score(
    tool: str, judge: Judge, cases: Sequence[Case], clock: Callable[[], float] = time.perf_counter
) -> Score:
    """How often a tool accuses right text, and how many planted faults it finds."""
    right = [case for case in cases if not case.faults]
    wrong = [case for case in cases if any(rule in RULES for rule, _ in case.faults)]
    began = clock()
    accused = sum(bool(judge(case.text)) for case in right)
    judged = [(case, judge(case.text)) for case in wrong]
    seconds = clock() - began
    places = [(place, found) for case, found in judged for place in faults(case)]
    return Score(
        tool=tool,
        right=len(right),
        accused=accused,
        planted=len(places),
        found=sum(_overlaps(place, found) for place, found in places),
        seconds=seconds,
    )


def faults(case: Case) -> list[tuple[int, int]]:
    """Places of the planted faults; the second of two equal ones is the second in the text."""
    places: list[tuple[int, int]] = []
    done: dict[str, int] = {}
    for rule, text in case.faults:
        start = case.text.index(text, done.get(text, 0))
        done[text] = start + len(text)
        if rule in RULES:
            places.append((start, start + len(text)))
    return places


def _overlaps(place: tuple[int, int], found: Sequence[tuple[int, int]]) -> bool:
    return any(start < place[1] and place[0] < end for start, end in found)


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench chinese-benchmark", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print the scores as JSON")
    asked = parser.parse_args(argv)
    cases = corpus.read()
    available = {"Spark Compare": ours, **peers()}
    scores = [score(name, judge, cases) for name, judge in available.items() if judge]
    if asked.json:
        print(msgspec.json.encode(scores).decode())
        return 0
    print(table(scores))
    if missing := [name.split()[0] for name, judge in available.items() if judge is None]:
        print(f"Not installed: {', '.join(dict.fromkeys(missing))}.")
        print("pip install -r requirements-dev.txt brings them.")
    return 0


def table(scores: Sequence[Score]) -> str:
    """The scores as a Markdown table, false accusations first."""
    rows = [
        "| Tool | Right sentences accused | Planted faults found | Time |",
        "| --- | ---: | ---: | ---: |",
    ]
    rows += [
        f"| {one.tool} | {one.accused} of {one.right} ({one.accused / one.right:.1%}) "
        f"| {one.found} of {one.planted} ({one.found / one.planted:.1%}) "
        f"| {1000 * one.seconds:.0f} ms |"
        for one in scores
    ]
    return "\n".join(rows)

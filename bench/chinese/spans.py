"""An answer cut into pieces for a page: plain text beside what was found there. Never HTML."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from bench.chinese.finding import Finding


class Span(msgspec.Struct, frozen=True, kw_only=True):
    text: str
    findings: tuple[Finding, ...] = ()
    """All findings that cover this piece, the shortest (the most telling) first."""


def marked(text: str, findings: Sequence[Finding]) -> list[Span]:
    """The answer as pieces whose texts, joined, are the answer again.

    A finding without text (something is missing) becomes an empty piece at its place. Equal
    neighbours, such as two Simplified characters in a row, stay pieces of their own.
    """
    within = [one for one in findings if one.start < one.end]
    cuts = sorted({0, len(text), *(edge for one in findings for edge in (one.start, one.end))})
    starting: dict[int, list[Finding]] = {}
    for one in within:
        starting.setdefault(one.start, []).append(one)
    missing: dict[int, list[Finding]] = {}
    for one in findings:
        if one.start == one.end:
            missing.setdefault(one.start, []).append(one)
    spans: list[Span] = []
    running: list[Finding] = []
    for place, after in zip(cuts, [*cuts[1:], None], strict=True):
        if place in missing:
            spans.append(Span(text="", findings=tuple(missing[place])))
        if after is None:
            break
        running = [one for one in running if one.end > place] + starting.get(place, [])
        covering = sorted(running, key=lambda one: one.end - one.start)
        spans.append(Span(text=text[place:after], findings=tuple(covering)))
    return spans

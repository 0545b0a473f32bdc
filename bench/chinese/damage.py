"""Damaged text: characters that were lost or read in the wrong encoding, hidden ones, loops."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from bench.chinese.finding import Finding, found
from bench.chinese.mask import HAN

_LOST = re.compile("\ufffd+")
_LATIN = re.compile(r"(?:[\u0080-\u00ff\u0152-\u0178\u2013-\u203a\u20ac\u2122\u02c6\u02dc]){2,}")
_HAN_RUN = re.compile(f"[{HAN}\u20ac]{{4,400}}")
_FAMOUS = re.compile("锟斤拷|(?:烫){3,}|(?:屯){3,}|嚙踝蕭|嚙緘|銝剜|隞嗅|雿輻")
_HIDDEN = re.compile("[\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff\u00ad]+")
_UNIT = re.compile(r"[^。！？\n\0]{8,}")
_LONGEST_PERIOD = 60
_UNITS = 4


def lost_characters(text: str) -> Iterator[Finding]:
    """U+FFFD: the engine gave out half a character. Streams are decoded whole on our side, so
    that this is never the transport's doing."""
    for match in _LOST.finditer(text):
        yield found(text, *match.span(), "lost_character", "error")


def mojibake(text: str) -> Iterator[Finding]:
    """UTF-8 that was read as another encoding: what comes of a server, not of a model."""
    for match in _LATIN.finditer(text):
        if meant := _meant(_western_bytes(match.group()), smallest="\u0080"):
            yield found(text, *match.span(), "mojibake", "error", meant=meant)
    for match in _HAN_RUN.finditer(text):
        if meant := _meant(match.group().encode("gbk", "replace"), smallest="\u2e80"):
            yield found(text, *match.span(), "mojibake", "error", meant=meant)
    for match in _FAMOUS.finditer(text):
        yield found(text, *match.span(), "mojibake", "error", meant="…")


def _western_bytes(run: str) -> bytes:
    """The bytes that Windows-1252 (or, where it has no character, Latin-1) shows as ``run``."""
    return b"".join(ch.encode("cp1252", "ignore") or ch.encode("latin-1", "replace") for ch in run)


def _meant(misread: bytes, *, smallest: str) -> str | None:
    """The first characters of what was meant, or None when the bytes are not UTF-8.

    Four in five must be readable and no smaller than ``smallest``: a few bytes may be lost, and
    chance gives small characters.
    """
    meant = misread.decode("utf-8", "replace")
    whole = [ch for ch in meant if ch >= smallest and ch != "\ufffd"]
    return "".join(whole)[:40] if len(whole) * 5 >= len(meant) * 4 else None


def hidden_characters(text: str) -> Iterator[Finding]:
    """Zero-width characters and marks of writing direction: nobody sees them, search does."""
    for match in _HIDDEN.finditer(text):
        yield found(text, *match.span(), "hidden_character", "hint", count=len(match.group()))


def loops(text: str) -> Iterator[Finding]:
    """Stretches repeated over and over, each reported once; ``text`` has code left out.

    A stretch of up to 60 characters counts when its repetitions follow each other and fill five
    periods and 30 characters. A longer sentence counts when it stands four times with at most 100
    characters between, or anywhere when such sentences make up a quarter of the text.
    """
    runs = _periodic_runs(text)
    for start, end, period in runs:
        yield found(text, start, end, "loop", "error", times=(end - start) // period)
    repeated = [
        outside
        for places in _repeated_units(text)
        if len(outside := [place for place in places if not _within(place, runs)]) >= _UNITS
    ]
    share = sum(end - start for places in repeated for start, end in places) / max(1, len(text))
    for places in repeated:
        if share >= 0.25 or _close_together(places):
            yield found(text, *places[1], "loop", "error", times=len(places))


def _periodic_runs(text: str) -> list[tuple[int, int, int]]:
    """(start, end, period) of stretches that repeat themselves, none overlapping another."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    runs: list[tuple[int, int, int]] = []
    taken = np.zeros(len(codes), dtype=bool)
    for period in range(1, min(_LONGEST_PERIOD, len(codes) // 5) + 1):
        same = np.concatenate(([False], codes[period:] == codes[:-period], [False]))
        edges = np.flatnonzero(same[1:] != same[:-1])
        for first, last in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            start, end = first, last + period
            repeats = end - start >= max(30, 5 * period)
            if repeats and _worded(text[start : start + period]) and not taken[start:end].any():
                taken[start:end] = True
                runs.append((start, end, period))
    return sorted(runs)


def _worded(piece: str) -> bool:
    """Whether it holds a letter; rules of dashes and table borders do not."""
    return any(ch.isalpha() for ch in piece)


def _repeated_units(text: str) -> list[list[tuple[int, int]]]:
    """Places of each sentence that stands in the text four times or more."""
    places: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for match in _UNIT.finditer(text):
        if _worded(match.group()):
            places[match.group().strip()].append(match.span())
    return [spans for spans in places.values() if len(spans) >= _UNITS]


def _close_together(places: Sequence[tuple[int, int]]) -> bool:
    near = [after[0] - before[1] <= 100 for before, after in pairwise(places)]
    return any(all(near[i : i + _UNITS - 1]) for i in range(len(near) - _UNITS + 2))


def _within(place: tuple[int, int], runs: Sequence[tuple[int, int, int]]) -> bool:
    return any(start <= place[0] and place[1] <= end for start, end, _ in runs)

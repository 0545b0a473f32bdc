"""Words of the Mainland that Taiwan says otherwise, from a list of our own.

``data/chinese/rules/terms.tsv`` has a row a word: the word, Taiwan's word, ``warning`` or
``hint``, words or stretches in which it is no fault (少數組織 holds 數組), an example that must be
found and one that must not. A word that is right in Taiwan too is left out or only a hint.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Literal

import msgspec

from bench.chinese import mask
from bench.chinese.finding import Finding, found
from bench.chinese.tables import FOLDER

_ABOUT_MAINLAND = re.compile("大陸|中國|對岸|兩岸|簡體|北京|上海|深圳|香港|用語")


class Term(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    term: str
    taiwan: str
    severity: Literal["warning", "hint"]
    unless: tuple[str, ...]
    """Longer stretches that hold the term and are right in Taiwan."""
    example: str
    counter: str


def mainland_terms(text: str) -> Iterator[Finding]:
    """Mainland words in a masked text; the longest word at a place wins.

    Titles of works are left out. In a sentence that speaks of the Mainland a word is only a hint:
    it may be named there on purpose.
    """
    text = mask.without_titles(text)
    end = 0
    for match in _first_characters().finditer(text):
        start = match.start()
        term = _at(text, start) if start >= end else None
        if term is None:
            continue
        end = start + len(term.term)
        severity = "hint" if _named_on_purpose(text, start, end) else term.severity
        yield found(text, start, end, "mainland_term", severity, taiwan=term.taiwan)


def _at(text: str, start: int) -> Term | None:
    for term in _by_first_character()[text[start]]:
        if text.startswith(term.term, start):
            return None if _excused(text, start, term) else term
    return None


def _excused(text: str, start: int, term: Term) -> bool:
    return any(
        text.startswith(stretch, start - stretch.index(term.term))
        for stretch in term.unless
        if stretch.index(term.term) <= start
    )


def _named_on_purpose(text: str, start: int, end: int) -> bool:
    before, after = max(0, start - 40), min(len(text), end + 40)
    left = max(text.rfind(mark, before, start) for mark in "。！？\n") + 1 or before
    rights = [place for mark in "。！？\n" if (place := text.find(mark, end, after)) >= 0]
    return bool(_ABOUT_MAINLAND.search(text, left, min(rights, default=after)))


@cache
def terms() -> Sequence[Term]:
    """The list, in the order of the file. Raises ValueError naming a faulty row."""
    with (FOLDER / "rules" / "terms.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [_term(row, line) for line, row in enumerate(rows, start=2)]


def _term(row: dict[str, str], line: int) -> Term:
    unless = [stretch for stretch in row["unless"].split("|") if stretch]
    if strange := [stretch for stretch in unless if row["term"] not in stretch]:
        raise ValueError(f"terms.tsv, line {line}: {strange} do not hold {row['term']!r}")
    return msgspec.convert({**row, "unless": unless}, Term)


@cache
def _by_first_character() -> Mapping[str, Sequence[Term]]:
    longest_first = sorted(terms(), key=lambda term: -len(term.term))
    firsts = {term.term[0] for term in longest_first}
    return {first: [term for term in longest_first if term.term[0] == first] for first in firsts}


@cache
def _first_characters() -> re.Pattern[str]:
    return re.compile(f"[{re.escape(''.join(sorted(_by_first_character())))}]")

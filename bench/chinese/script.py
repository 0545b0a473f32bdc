"""Characters: Simplified ones, and Traditional ones that Taiwan does not use."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from bench.chinese.finding import Finding, found
from bench.chinese.tables import Hard, hard, simplified, variants

_SENTENCE = re.compile(r"[^。！？\n]+")
_JAPAN = re.compile(
    "日本|日文|日語|日式|日系|日劇|東京|京都|大阪|和服|株式|漢字|動漫|北海道|沖繩|九州"
)


def simplified_characters(text: str) -> Iterator[Finding]:
    """Characters that are never right in a Taiwan text, each one a finding.

    ``text`` is masked already. In a sentence about Japan, a form that Japanese has too (国, 学) is
    only a hint, unless a form that Japanese does not have stands in the same sentence.
    """
    for sentence in _SENTENCE.finditer(text):
        yield from _in_sentence(text, sentence.start(), sentence.end())


def _in_sentence(text: str, start: int, end: int) -> Iterator[Finding]:
    hits = [match.start() for match in _pattern().finditer(text, start, end)]
    if not hits:
        return
    japanese = bool(_JAPAN.search(text, start, end)) and all(_shinjitai(text[i]) for i in hits)
    for i in hits:
        form, taiwan = text[i], simplified()[text[i]]
        verdict = _judged(text, i, hard().get(form))
        if verdict == "right":
            continue
        if verdict == "unsure":
            yield found(text, i, i + 1, "perhaps_simplified", "hint", taiwan=taiwan)
        elif japanese:
            yield found(text, i, i + 1, "perhaps_japanese", "hint", taiwan=taiwan)
        else:
            yield found(text, i, i + 1, "simplified", "error", taiwan=taiwan)


def _judged(text: str, i: int, case: Hard | None) -> str:
    """``wrong``, ``right`` or ``unsure`` for the character at ``i``."""
    if case is None:
        return "wrong"
    if case.verdict == "never" or any(_stands_in(text, i, word) for word in case.right):
        return "right"
    if case.verdict == "flag" or any(_stands_in(text, i, word) for word in case.wrong):
        return "wrong"
    return "right" if case.verdict == "words" else "unsure"


def _stands_in(text: str, i: int, word: str) -> bool:
    """Whether the character at ``i`` is part of ``word`` there."""
    return any(
        text.startswith(word, i - offset)
        for offset, character in enumerate(word)
        if character == text[i] and offset <= i
    )


@cache
def _pattern() -> re.Pattern[str]:
    return re.compile(f"[{''.join(simplified())}]")


@cache
def _shinjitai(character: str) -> bool:
    try:
        character.encode("shift_jis")
    except UnicodeEncodeError:
        return False
    return True


def unusual_variants(text: str) -> Iterator[Finding]:
    """Traditional forms not usual in Taiwan (裏, 着, 爲): hints."""
    for match in _variants().finditer(text):
        taiwan = variants()[match.group()]
        yield found(text, match.start(), match.end(), "variant", "hint", taiwan=taiwan)


@cache
def _variants() -> re.Pattern[str]:
    return re.compile(f"[{''.join(variants())}]")


def mixed_tai(text: str) -> Iterator[Finding]:
    """臺 and 台 for the same place in one text: a hint at the rarer form's first use."""
    for place in "灣北中南東":
        formal, common = text.find(f"臺{place}"), text.find(f"台{place}")
        if formal >= 0 and common >= 0:
            start = max(formal, common)
            yield found(
                text,
                start,
                start + 2,
                "mixed_tai",
                "hint",
                formal=f"臺{place}",
                common=f"台{place}",
            )

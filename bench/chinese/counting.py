"""Lengths as people in Taiwan count them, and the share of Chinese in a text."""

from __future__ import annotations

import re

from bench.chinese.mask import HAN

_HAN = re.compile(f"[{HAN}]")
_WORD = re.compile(r"[A-Za-z\u00c0-\u024f]+(?:['’-][A-Za-z\u00c0-\u024f]+)*|\d+(?:[.,:]\d+)*")
_LETTER = re.compile(r"[^\W\d_]")


def han(text: str) -> int:
    """Chinese characters."""
    return len(_HAN.findall(text))


def length(text: str) -> int:
    """Length in 字: a Chinese character, a foreign word or a number is one; punctuation none."""
    return han(text) + len(_WORD.findall(text))


def letters(text: str) -> int:
    """Letters of any script."""
    return len(_LETTER.findall(text))


def han_share(text: str) -> float | None:
    """Chinese characters among the letters, 0 to 1; None for a text without letters.

    A foreign word counts as one letter and a half, about what it takes in Chinese, so that a
    text about software is not called foreign for the names in it.
    """
    chinese = han(text)
    foreign = 1.5 * len(_WORD.findall(re.sub(r"\d", "", text))) + sum(
        not ch.isascii() and not "\u00c0" <= ch <= "\u024f" for ch in _other_letters(text)
    )
    return chinese / (chinese + foreign) if chinese + foreign else None


def _other_letters(text: str) -> list[str]:
    return [ch for ch in _LETTER.findall(text) if not _HAN.match(ch)]

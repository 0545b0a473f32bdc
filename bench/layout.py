"""Text in its place: lines of a width, and names that can't become formatting."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping

from bench.chinese import Finding, Severity

SPECIAL = re.compile(r"([!-/:-@\[-`{-~])")
"""Every ASCII character that may mean something in Markdown."""


GROUNDS: Mapping[Severity, str] = {
    "error": "red-background",
    "warning": "orange-background",
    "hint": "gray-background",
}


def plain(text: str) -> str:
    """Text for a place that reads Markdown, where it must look as it is: no HTML, formula, link,
    colour or icon. Line breaks stay."""
    return SPECIAL.sub(r"\\\1", text).replace("\n", "  \n")


def wrapped(text: str, columns: int) -> list[str]:
    """Lines of at most ``columns`` columns, a Chinese character being two wide.

    Lines break at spaces, and between any two characters where one is Chinese.
    """
    lines, line = [], ""
    for piece in re.findall(r"[^\S\n]*(?:[⺀-￯]|[^\s⺀-￯]+)[，。；：、）」]*", text):
        if line and width(line + piece) > columns:
            lines.append(line)
            line = piece.lstrip()
        else:
            line += piece
    return [*lines, line.strip()] if line.strip() else lines


def width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def marked(text: str, findings: Iterable[Finding]) -> str:
    """Markdown of a text as it is, with the stretches that were found on a coloured ground.

    Where findings overlap, the one that begins first is marked.
    """
    parts, end = [], 0
    for one in findings:
        if one.start < end or one.end <= one.start:
            continue
        ground = GROUNDS[one.severity]
        parts += [plain(text[end : one.start]), f":{ground}[{plain(text[one.start : one.end])}]"]
        end = one.end
    return "".join([*parts, plain(text[end:])])

"""Text in its place: lines of a width, and names that can't become formatting."""

from __future__ import annotations

import re
import unicodedata

SIGNS = re.compile(r"([\\`*_\[\]{}<>#$~:|!&^@=])")
"""What may mean something in Markdown wherever it stands."""
STARTS = re.compile(r"^([ \t]*)(?:(\d*)([-+.)]))?", re.MULTILINE)
"""What means something at the start of a line: indentation, a list."""


def plain(text: str) -> str:
    """Text for a place that reads Markdown, where it must look as it is: no HTML, formula, link,
    list, colour or icon. Line breaks and indentation stay."""
    text = STARTS.sub(_start, SIGNS.sub(r"\\\1", text))
    return text.replace("\n", "  \n")


def _start(line: re.Match[str]) -> str:
    space = "\N{NO-BREAK SPACE}" * len(line[1])
    return f"{space}{line[2] or ''}\\{line[3]}" if line[3] else space


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

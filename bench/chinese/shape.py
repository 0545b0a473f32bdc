"""The shape of an answer: its list items, sentences, paragraphs, its JSON."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

_BULLET = r"[-*][ \t]+|[•・‧▪●○◆][ \t]*"
_NUMERAL = r"\d{1,3}[.)、．]|[(（]\d{1,3}[)）]|[(（]?[一二三四五六七八九十]{1,3}[)）、.．]|[①-⑳]"
_ITEM = re.compile(
    rf"^(?P<indent>[ \t]*)(?:{_BULLET}|(?:\#{{1,6}}[ \t]+)?\*{{0,2}}(?:{_NUMERAL})"
    r"(?:[ \t]+|(?=[^\s\d.-])))(?P<body>\S[^\n]*)",
    re.MULTILINE,
)
_RULE = re.compile(r"^\s*(?:[-*_]\s*){3,}$", re.MULTILINE)
_INLINE_ITEM = re.compile(r"第[一二三四五六七八九十]+[，、點項：]|[①-⑳]")
_TABLE_ROW = re.compile(r"^\s*\|.+\|\s*$", re.MULTILINE)
_TABLE_RULE = re.compile(r"^\s*\|(?:\s*:?-{2,}:?\s*\|)+\s*$", re.MULTILINE)
_MARKDOWN = re.compile(r"^#{1,6} |^\s*[-*] |^>|\*\*[^*\n]+\*\*|^```|^\s*\|.+\|\s*$", re.MULTILINE)
_ONE_FENCE = re.compile(r"\A\s*```[\w-]*[ \t]*\n(?P<body>.*?)\n?[ \t]*```\s*\Z", re.DOTALL)
_SENTENCE_END = re.compile(r"[。！？!?\n]+")
_WORD = re.compile(r"\w")


def items(text: str) -> Sequence[str]:
    """The outermost items of the lists in a text; without a list, its "第一、…" or its lines."""
    matches = list(_ITEM.finditer(_RULE.sub("", text)))
    if matches:
        outermost = min(len(match["indent"].expandtabs(4)) for match in matches)
        return [m["body"] for m in matches if len(m["indent"].expandtabs(4)) <= outermost + 1]
    if len(inline := list(_INLINE_ITEM.finditer(text))) > 1:
        ends = [match.start() for match in inline[1:]] + [len(text)]
        return [text[m.end() : end] for m, end in zip(inline, ends, strict=True)]
    return lines(text)


def lines(text: str) -> Sequence[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def paragraphs(text: str) -> Sequence[str]:
    return [piece.strip() for piece in re.split(r"\n[ \t]*\n", text) if piece.strip()]


def sentences(text: str) -> Sequence[str]:
    return [piece.strip() for piece in _SENTENCE_END.split(text) if _WORD.search(piece)]


def is_table(text: str) -> bool:
    """A Markdown table with a head and at least one row."""
    return bool(_TABLE_RULE.search(text)) and len(_TABLE_ROW.findall(text)) >= 3


def is_plain(text: str) -> bool:
    """No Markdown at all."""
    return not _MARKDOWN.search(text)


def parsed(text: str) -> Any:
    """The JSON that the whole answer is, one code fence around it allowed.

    Raises ValueError when it is not JSON, or when there is text beside it.
    """
    fence = _ONE_FENCE.match(text)
    try:
        return msgspec.json.decode((fence["body"] if fence else text).strip())
    except (msgspec.DecodeError, RecursionError, UnicodeError) as fault:
        raise ValueError(str(fault)) from fault

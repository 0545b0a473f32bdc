"""Punctuation and width: Taiwan writes full-width marks and corner quotation marks."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bench.chinese.finding import Finding, Severity, found
from bench.chinese.mask import HAN

FULL = {",": "，", ".": "。", "?": "？", "!": "！", ":": "：", ";": "；", "､": "、", "｡": "。"}

_HALF = re.compile(
    rf"(?<=[{HAN}」』》）])(?P<bold>\*{{0,2}})(?P<mark>[,;:?!]|\.(?!\.))"
    rf"(?=\*{{0,2}}[ \t]*\*{{0,2}}(?:[{HAN}「『《（\n]|\Z))"
)
_HALF_CJK = re.compile(r"[､｡]")
_CURLY = re.compile(rf"(?P<open>[“‘])[^”’\n]{{0,400}}?[{HAN}][^”’\n]{{0,400}}?[”’]")
_STRAIGHT = re.compile(rf"(?P<open>\")[^\"\n]{{0,100}}[{HAN}][^\"\n]{{0,100}}\"(?=[{HAN}，。])")
_DOTS = re.compile(rf"(?<=[{HAN}])(?:\.{{3,}}|。{{2,}})")
_BRACKET = re.compile(rf"(?<=[{HAN}])\((?=[^()\n]{{0,80}}[{HAN}])")
_WIDE = re.compile(r"[Ａ-Ｚａ-ｚ０-９]+")


def punctuation(text: str) -> Iterator[Finding]:
    """Half-width marks between Chinese, foreign quotation marks, odd ellipses, wide letters."""
    for match in _HALF.finditer(text):
        start, end = match.span("mark")
        yield found(text, start, end, "half_width", "warning", taiwan=FULL[match["mark"]])
    for match in _HALF_CJK.finditer(text):
        yield found(text, *match.span(), "half_width", "warning", taiwan=FULL[match.group()])
    for match in _CURLY.finditer(text):
        taiwan = "「」" if match["open"] == "“" else "『』"
        yield found(text, *match.span("open"), "quotation_marks", "warning", taiwan=taiwan)
    for match in _STRAIGHT.finditer(text):
        yield found(text, *match.span("open"), "quotation_marks", "hint", taiwan="「」")
    for match in _DOTS.finditer(text):
        severity: Severity = "warning" if match.group().startswith("。") else "hint"
        yield found(text, *match.span(), "ellipsis", severity)
    for match in _BRACKET.finditer(text):
        yield found(text, *match.span(), "half_width_bracket", "hint")
    for match in _WIDE.finditer(text):
        yield found(text, *match.span(), "full_width_letters", "hint")

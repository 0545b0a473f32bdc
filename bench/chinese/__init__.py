"""Does an answer write like Taiwan? Deterministic checks: text in, findings out.

A finding carries its place, so that a reader sees what is meant and can judge the judge. Accusing
right text is the worst fault here: what is unsure is a hint, and hints are never counted.
"""

from __future__ import annotations

from collections.abc import Iterator

from bench.catalogue import Prompt
from bench.chinese import asked, script
from bench.chinese.finding import Finding, Severity, explanation, in_order

__all__ = ["Finding", "Severity", "check", "explanation"]


def check(
    text: str,
    *,
    prompt: Prompt | None = None,
    reasoning: str = "",
    finish: str | None = None,
) -> tuple[Finding, ...]:
    """All findings of one answer, in the order of reading."""
    return in_order(_taiwan(text, prompt) if asked.script(prompt) != "zh-CN" else ())


def _taiwan(text: str, prompt: Prompt | None) -> Iterator[Finding]:
    judged = asked.judged(text, prompt)
    yield from script.simplified_characters(judged)
    yield from script.unusual_variants(judged)
    yield from script.mixed_tai(judged)

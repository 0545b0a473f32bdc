"""Does an answer write like Taiwan? Deterministic checks: text in, findings out.

A finding carries its place, so that a reader sees what is meant and can judge the judge. Accusing
right text is the worst fault here: what is unsure is a hint, and hints are never counted. Every
check takes time in proportion to the length of the text.
"""

from __future__ import annotations

from collections.abc import Iterator

from bench.catalogue import Prompt
from bench.chinese import (
    asked,
    damage,
    ending,
    instructions,
    leakage,
    mask,
    punctuation,
    script,
    terms,
)
from bench.chinese.finding import Finding, Severity, explanation, in_order
from bench.chinese.instructions import Outcome, outcomes
from bench.chinese.literacy import Literacy, can_write
from bench.chinese.spans import Span, marked
from bench.chinese.summary import Rate, Summary, rate_of, rates, summary

__all__ = [
    "Finding",
    "Literacy",
    "Outcome",
    "Rate",
    "Severity",
    "Span",
    "Summary",
    "can_write",
    "check",
    "explanation",
    "marked",
    "outcomes",
    "rate_of",
    "rates",
    "summary",
]


def check(
    text: str,
    *,
    prompt: Prompt | None = None,
    reasoning: str = "",
    finish: str | None = None,
) -> tuple[Finding, ...]:
    """All findings of one answer, in the order of reading.

    ``reasoning`` is the thinking that came apart from the answer, ``finish`` the engine's finish
    reason. The prompt decides what was asked for: Simplified characters, a length, a form.
    Raises BenchError ``prompt_check_unknown`` for a prompt with a check that does not exist.
    """
    damaged = list(_damage(text))
    findings = [*ending.unfinished(text, reasoning, finish), *damaged]
    if prompt is not None and text.strip():
        findings += instructions.missed(text, prompt)
    misread = [(one.start, one.end) for one in damaged if one.rule == "mojibake"]
    readable = mask.without(text, misread)
    findings += damage.hidden_characters(readable)
    if prompt is None or prompt.language == "zh-TW":
        findings += _chinese(readable, prompt)
    return in_order(findings)


def _damage(text: str) -> Iterator[Finding]:
    yield from ending.leaked_thinking(text)
    yield from ending.special_tokens(text)
    yield from damage.lost_characters(text)
    yield from damage.mojibake(text)
    yield from damage.loops(mask.without_code(text))


def _chinese(text: str, prompt: Prompt | None) -> Iterator[Finding]:
    yield from leakage.not_chinese(text, prompt)
    if asked.script(prompt) != "zh-CN":
        yield from _taiwan(asked.judged(text, prompt))
        unquoted = mask.without_quotations(mask.without_code(text))
        yield from leakage.leaked_scripts(unquoted)
        yield from leakage.english_sentences(unquoted, prompt)


def _taiwan(judged: str) -> Iterator[Finding]:
    yield from script.simplified_characters(judged)
    yield from script.unusual_variants(judged)
    yield from script.mixed_tai(judged)
    yield from terms.mainland_terms(judged)
    yield from punctuation.punctuation(judged)

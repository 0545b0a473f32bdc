"""A finding: a stretch of an answer, the rule that it met, and how sure that rule is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from bench.errors import Field
from bench.text import Words

Severity = Literal["error", "warning", "hint"]
"""``error``: never right in a Taiwan text, or the instruction was missed. ``warning``: readable,
but not how Taiwan writes. ``hint``: worth a look, never counted."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    start: int
    """Index of the first character in the answer."""
    end: int
    """Index after the last one; equal to ``start`` when something is missing."""
    text: str
    rule: str
    severity: Severity
    fields: Mapping[str, Field] = msgspec.field(default_factory=dict)
    """What the explanation of the rule mentions, e.g. ``taiwan``: the form to use."""


def found(
    text: str, start: int, end: int, rule: str, severity: Severity, **fields: Field
) -> Finding:
    """A finding of ``text[start:end]``."""
    return Finding(
        start=start, end=end, text=text[start:end], rule=rule, severity=severity, fields=fields
    )


def explanation(finding: Finding, words: Words) -> str:
    """Why this was found, in the reader's language (``data/text/chinese.toml``)."""
    return words(f"chinese.{finding.rule}", text=finding.text, **finding.fields)


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """As a reader meets them: by place, the longer one first."""
    return tuple(sorted(findings, key=lambda one: (one.start, -one.end, one.rule)))

"""An answer as HTML in which each finding can be pointed at, with the mouse or with the Tab key.

The answer is untrusted: every character of it, and of the explanations, goes through
`html.escape`, so that no tag, attribute, image or script of a model ever is one. All markup is
made here, and the browser cleans it once more (Streamlit's ``st.html``).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from html import escape

from bench.chinese import Finding, Severity, Span, explanation
from bench.chinese import marked as spans_of
from bench.text import Words

LONGEST = 20_000
"""Characters of one answer that a page shows."""
STOPS = 80
"""Findings that the Tab key stops at; a list below the answer has them all."""
REASONS = 4
"""Explanations in one tooltip."""
_RANK: tuple[Severity, ...] = ("error", "warning", "hint")

STYLE = """<style>
.answer { position: relative; white-space: pre-wrap; overflow-wrap: anywhere; line-height: 1.75;
  unicode-bidi: isolate; }
.answer-long { max-height: 34rem; overflow-y: auto; }
.answer mark { color: inherit; border-radius: 3px; padding: 0 1px; cursor: help;
  text-decoration: underline; text-decoration-thickness: 2px; text-underline-offset: 4px; }
.answer .error { background: rgba(224, 62, 62, .18); text-decoration-color: #d33; }
.answer .warning { background: rgba(230, 140, 20, .20); text-decoration-color: #d9820f;
  text-decoration-style: dashed; }
.answer .hint { background: rgba(130, 130, 130, .20); text-decoration-color: #888;
  text-decoration-style: dotted; }
.answer mark:focus-visible { outline: 2px solid #205ff3; outline-offset: 2px; }
.answer .why { display: none; position: absolute; left: 0; right: 0; z-index: 9;
  margin-top: 1.9em; padding: .5rem .75rem; border-radius: 8px; font-size: .9rem;
  line-height: 1.5; background: #20242c; color: #fff; white-space: pre-line;
  text-decoration: none; user-select: none; box-shadow: 0 2px 10px rgba(0, 0, 0, .35); }
.answer mark:hover > .why, .answer mark:focus > .why { display: block; }
.answer mark:focus:not(:hover) ~ mark:hover > .why { z-index: 10; }
</style>"""


def html(text: str, findings: Sequence[Finding], key: str, t: Words) -> str:
    """The answer with its findings; ``key`` tells answers of one page apart (letters, digits)."""
    shown = text[:LONGEST]
    within = [one for one in findings if one.end <= len(shown) and one.start < one.end]
    kind = "answer answer-long" if len(shown) > 2_000 else "answer"
    inner = "".join(_pieces(shown, within, key, t))
    return f'<div class="{kind}" dir="auto">{inner}</div>'


def _pieces(text: str, findings: Sequence[Finding], key: str, t: Words) -> Iterator[str]:
    for number, (piece, reasons) in enumerate(_stretches(spans_of(text, findings))):
        yield _mark(piece, reasons, f"why-{key}-{number}", t) if reasons else escape(piece)


def _stretches(spans: Sequence[Span]) -> list[tuple[str, list[Finding]]]:
    """Neighbours of the same severity as one, so that a word stays a word and one stop; after
    `STOPS` of them the rest of the text is plain."""
    found: list[tuple[str, list[Finding]]] = []
    stops = 0
    for span in spans:
        reasons = list(span.findings)
        if reasons and found and found[-1][1] and _worst(found[-1][1]) == _worst(reasons):
            before, known = found[-1]
            found[-1] = (before + span.text, [*known, *(r for r in reasons if r not in known)])
            continue
        stops += bool(reasons)
        found.append((span.text, reasons if stops <= STOPS else []))
    return found


def _worst(findings: Sequence[Finding]) -> Severity:
    return min((one.severity for one in findings), key=_RANK.index)


def _mark(piece: str, findings: Sequence[Finding], id: str, t: Words) -> str:
    said = list(dict.fromkeys(explanation(one, t) for one in findings))
    more = [t("zh.more_reasons", n=len(said) - REASONS)] if len(said) > REASONS else []
    why = escape("\n".join([*said[:REASONS], *more]))
    return (
        f'<mark class="{_worst(findings)}" tabindex="0" aria-describedby="{id}">'
        f"{escape(_visible(piece))}"
        f'<span class="why" role="tooltip" id="{id}">{why}</span></mark>'
    )


def _visible(piece: str) -> str:
    """Characters that cannot be seen by their numbers, where nothing else is there to point at."""
    if piece and all(unicodedata.category(ch) in ("Cf", "Cc") for ch in piece):
        return " ".join(f"U+{ord(ch):04X}" for ch in dict.fromkeys(piece))
    return piece

"""Can a model write Chinese at all? Where it cannot, "no findings" would praise it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

import msgspec

from bench.chinese import counting, damage, ending, mask

Level = Literal["yes", "poor", "no", "unknown"]
"""``poor``: some answers are no Chinese. ``unknown``: there is too little to say."""
Reason = Literal["little_chinese", "loops", "echo", "no_grammar", "empty"]

ENOUGH_HAN = 0.3
"""Share of Chinese characters among the letters below which an answer is not Chinese."""
_COMMON = frozenset(
    "的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得于於著下自之年過發"
    "後作裡用道行所然家種事成方多經麼去法學如都同現當沒動面起看定天分還進好小部其些主樣理心她本前開但"
    "因只從想實日軍者意無力它與長把機十民第公此已工使情明性知全三又關點正業外將兩高間由問很最重並物手"
    "應戰向頭文體政美相見被利什二等產或新己制身果加西斯月話合回特代內信表化老給世位次度門任常先海通教"
    "請您需安上網電資訊提供服務使用您好謝"
    "的这们来为国说时会对发后过动还进样开实军无长机关点业间问应战头体见产"
)
"""Characters that hardly any Chinese sentence does without, in both scripts."""


_PIECE = 6
_NO_LETTERS = re.compile(r"[\W_]+")


class Literacy(msgspec.Struct, frozen=True, kw_only=True):
    level: Level
    answers: int
    """Answers long enough to say something about."""
    chinese: int
    """How many of them are Chinese."""
    reasons: tuple[Reason, ...] = ()
    """Why the others are not, the most frequent first."""


def can_write(answers: Sequence[str], prompts: Sequence[str] = ()) -> Literacy:
    """Whether a model's answers to Chinese prompts are Chinese.

    ``prompts`` are the prompts' texts in the same order, so that an echo can be told. ``no`` when
    fewer than half of the answers are Chinese, ``poor`` when fewer than nine in ten.
    """
    asked = [*prompts, *[""] * (len(answers) - len(prompts))]
    reasons = [reason for pair in zip(answers, asked, strict=True) for reason in _read(*pair)]
    faults = [reason for reason in reasons if reason is not None]
    judged, chinese = len(reasons), len(reasons) - len(faults)
    if not judged:
        level: Level = "unknown"
    elif chinese * 2 < judged:
        level = "no"
    else:
        level = "yes" if chinese * 10 >= judged * 9 else "poor"
    often = sorted(set(faults), key=lambda reason: (-faults.count(reason), reason))
    return Literacy(level=level, answers=judged, chinese=chinese, reasons=tuple(often))


def _read(answer: str, prompt: str) -> list[Reason | None]:
    """One reason why the answer is no Chinese, or None when it is; nothing when too short."""
    text = ending.without_marks(mask.without_code(answer))
    if not answer.strip():
        return ["empty"]
    looped = sum(f.end - f.start for f in damage.loops(text))
    if looped * 3 > len(text):
        return ["loops"]
    if counting.length(text) < 12:
        return []
    own = mask.without_echo(text, prompt)
    if counting.length(own) * 5 <= counting.length(text) or _pieced_together(text, prompt):
        return ["echo"]
    share = counting.han_share(own)
    if share is None or share < ENOUGH_HAN:
        return ["little_chinese"]
    return ["no_grammar"] if _common_share(own) < 0.1 else [None]


def _pieced_together(text: str, prompt: str) -> bool:
    """Whether the answer is hardly more than pieces of six characters and more of the question.

    A question that brings a text of its own is left out: a summary may quote it.
    """
    if "\n" in prompt or "「" in prompt:
        return False
    answer, question = (_NO_LETTERS.sub("", one) for one in (text, prompt))
    pieces = {question[place : place + _PIECE] for place in range(len(question) - _PIECE + 1)}
    covered: set[int] = set()
    for place in range(len(answer) - _PIECE + 1):
        if answer[place : place + _PIECE] in pieces:
            covered.update(range(place, place + _PIECE))
    return len(covered) * 20 >= len(answer) * 17


def _common_share(text: str) -> float:
    """Share of very common characters; 1 for a text too short to tell."""
    chinese = [ch for ch in text if ch >= "\u3400"]
    if len(chinese) < 150:
        return 1.0
    return sum(ch in _COMMON for ch in chinese) / len(chinese)

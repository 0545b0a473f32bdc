"""How a model writes Chinese, from the answers that its run kept. Pure: values in, values out.

Each answer is read with the prompt that its run sent, so that a missed instruction is seen. Only
answers to one set of prompts in one version belong together (`prompt_sets`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from bench import chinese
from bench.catalogue import Prompt
from bench.chinese import Finding, Literacy, Outcome, Rate, Summary, counting
from bench.chinese.summary import Kind
from bench.numbers.stats import wilson
from bench.results import Result
from bench.summary import Interval

if TYPE_CHECKING:  # values only
    from bench.store import Answer

USAGE: tuple[Kind, ...] = ("simplified", "vocabulary", "punctuation", "language")
"""Kinds of findings about how something is written; the others are about what came out at all."""


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """One answer with what was found in it."""

    answer: Answer
    prompt: Prompt
    findings: tuple[Finding, ...]
    outcomes: tuple[Outcome, ...]
    summary: Summary
    length: int
    """In 字 (`counting.length`)."""
    first: float | None
    """Seconds to the first character of the answer itself."""
    speed: float | None
    """Characters a second from there on, of all kinds, spaces included."""

    @property
    def counted(self) -> list[Finding]:
        return [one for one in self.findings if one.severity != "hint"]


class Writing(msgspec.Struct, frozen=True, kw_only=True):
    """One model's answers in figures."""

    answers: int
    length: int
    """Of all answers together, in 字."""
    literacy: Literacy
    rates: Mapping[Kind, Rate]
    usage: Rate
    """Findings of the kinds in `USAGE` together."""
    asked: int
    """Instructions that a program can check, over all answers."""
    followed: int
    share: Interval | None
    """95 % (Wilson) interval of the share that was followed; None when nothing was asked."""


def prompt_sets(results: Sequence[Result]) -> list[str]:
    """The sets of zh-TW prompts that any of the results answered, the largest first."""
    sets = Counter(
        prompt_of(result, answer).set
        for result in results
        for answer in result.answers
        if answer.language == "zh-TW"
    )
    return [name for name, _ in sets.most_common()]


def prompt_of(result: Result, answer: Answer) -> Prompt:
    """The prompt as it was sent; of an answer whose plan has none, its text alone."""
    sent = result.run.plan.prompts if result.run else ()
    found = next((prompt for prompt in sent if prompt.id == answer.prompt), None)
    if found is not None and found.text == answer.question:
        return found
    bare = Prompt(id=answer.prompt, language="zh-TW", kind="", text=answer.question)
    return bare if answer.language == "zh-TW" else msgspec.structs.replace(bare, language="en")


def readings(result: Result) -> list[Reading]:
    """A result's answers to the zh-TW prompts; of a failed one what came is kept and nothing is
    judged."""
    asked = ((answer, prompt_of(result, answer)) for answer in result.answers)
    return [reading(answer, prompt) for answer, prompt in asked if prompt.language == "zh-TW"]


def reading(answer: Answer, prompt: Prompt) -> Reading:
    sample = answer.sample
    findings: tuple[Finding, ...] = ()
    if sample.ok:
        findings = chinese.check(
            sample.text, prompt=prompt, reasoning=sample.reasoning, finish=sample.finish
        )
    first, last = sample.first_answer, sample.last_token
    writing = last - first if first is not None and last is not None else 0
    return Reading(
        answer=answer,
        prompt=prompt,
        findings=findings,
        outcomes=chinese.outcomes(sample.text, prompt) if sample.ok else (),
        summary=chinese.summary(findings, sample.text),
        length=counting.length(sample.text),
        first=first,
        speed=len(sample.text) / writing if writing > 0 else None,
    )


def of(read: Sequence[Reading], prompt_set: str) -> Writing:
    """The figures of a result's answers to one set. Whether it can write Chinese at all is asked
    of all its zh-TW answers."""
    return writing([one for one in read if one.prompt.set == prompt_set], literacy(read))


def literacy(read: Sequence[Reading]) -> Literacy:
    good = [one for one in read if one.answer.sample.ok]
    return chinese.can_write(
        [one.answer.sample.text for one in good], [one.prompt.text for one in good]
    )


def writing(read: Sequence[Reading], able: Literacy) -> Writing:
    """The figures of one model's answers to one set; failed ones are in none of them."""
    read = [one for one in read if one.answer.sample.ok]
    summaries = [one.summary for one in read]
    outcomes = [outcome for one in read for outcome in one.outcomes]
    followed = sum(outcome.followed for outcome in outcomes)
    return Writing(
        answers=len(read),
        length=sum(one.length for one in read),
        literacy=able,
        rates=chinese.rates(summaries),
        usage=chinese.rate_of(USAGE, summaries),
        asked=len(outcomes),
        followed=followed,
        share=wilson(followed, len(outcomes)) if outcomes else None,
    )

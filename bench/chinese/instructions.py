"""Was the instruction followed? A prompt's ``checks`` say what can be seen by a program.

| check | argument | holds when |
|---|---|---|
| ``items`` | n | the answer lists exactly n items |
| ``item_length`` | n | no item is longer than n 字 |
| ``max_length``, ``min_length`` | n | the answer has at most, at least n 字 |
| ``sentences``, ``paragraphs``, ``lines`` | n | it has exactly n of them |
| ``format`` | ``json``, ``table``, ``list``, ``plain`` | it has that form |
| ``keys`` | names | it is JSON with these keys; ``name:type`` checks the value's type too |
| ``tool``, ``arguments`` | name; ``key=a|b`` | it is a tool call with that name and these values |
| ``terms`` | words, ``a|b`` for either | each of them is used |
| ``not_terms`` | words | none of them is used |
| ``roc_date`` | ``115-10-10`` | the date stands as 民國 115 年 10 月 10 日 |
| ``number`` | digits | the number stands in it, thousands separated or not |
| ``starts``, ``ends`` | words, ``a|b`` | it begins, ends with one of them |
| ``script`` | ``taiwan``, ``quoted``, ``zh-CN`` | nothing: it says what is judged (`asked.py`) |

字 are counted as people do: a Chinese character, a foreign word or a number is one, punctuation is
none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from bench.catalogue import Prompt
from bench.chinese import counting, shape, structured
from bench.chinese.finding import Finding, found
from bench.errors import BenchError, Field

Argument = str | int | float | bool | tuple[str, ...]
Missed = tuple[str, Mapping[str, Field]]
"""Rule of the explanation, and its fields."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    check: str
    followed: bool
    finding: Finding | None = None
    """Why not."""


def outcomes(text: str, prompt: Prompt) -> tuple[Outcome, ...]:
    """Each instruction of the prompt and whether the answer followed it.

    Raises BenchError ``prompt_check_unknown`` for a check that does not exist here.
    """
    return tuple(
        _outcome(text, name, argument, prompt)
        for name, argument in prompt.checks.items()
        if name != "script"
    )


def known(name: str) -> bool:
    return name in CHECKS or name == "script"


def _outcome(text: str, name: str, argument: Argument, prompt: Prompt) -> Outcome:
    if name not in CHECKS:
        raise BenchError("prompt_check_unknown", prompt=prompt.id, check=name)
    missed = CHECKS[name](text.strip(), argument)
    if missed is None:
        return Outcome(check=name, followed=True)
    rule, fields = missed
    start, end = _place(text, fields.get("term")) if name == "not_terms" else (len(text),) * 2
    return Outcome(
        check=name, followed=False, finding=found(text, start, end, rule, "error", **fields)
    )


def _place(text: str, term: Field | None) -> tuple[int, int]:
    start = text.find(str(term))
    return start, start + len(str(term))


def words_of(argument: Argument) -> tuple[str, ...]:
    return argument if isinstance(argument, tuple) else (str(argument),)


def _exactly(rule: str, count: Callable[[str], Sequence[str]]) -> Callable[..., Missed | None]:
    def check(text: str, argument: Argument) -> Missed | None:
        number = len(count(text))
        return None if number == argument else (rule, {"asked": int_of(argument), "got": number})

    return check


def int_of(argument: Argument) -> int:
    return int(argument) if not isinstance(argument, tuple) else len(argument)


def _max_length(text: str, argument: Argument) -> Missed | None:
    got, asked = counting.length(text), int_of(argument)
    return None if got <= asked else ("too_long", {"asked": asked, "got": got})


def _min_length(text: str, argument: Argument) -> Missed | None:
    got, asked = counting.length(text), int_of(argument)
    return None if got >= asked else ("too_short", {"asked": asked, "got": got})


def _item_length(text: str, argument: Argument) -> Missed | None:
    got = max((counting.length(item) for item in shape.items(text)), default=0)
    asked = int_of(argument)
    return None if got <= asked else ("item_too_long", {"asked": asked, "got": got})


def _format(text: str, argument: Argument) -> Missed | None:
    forms: Mapping[object, Callable[[str], bool]] = {
        "json": structured.is_json,
        "table": shape.is_table,
        "plain": shape.is_plain,
        "list": lambda answer: len(shape.items(answer)) > 1,
    }
    return None if forms[argument](text) else (f"not_{argument}", {})


def _terms(text: str, argument: Argument) -> Missed | None:
    for term in words_of(argument):
        if not any(either in text for either in term.split("|")):
            return "term_missing", {"term": term.split("|")[0]}
    return None


def _not_terms(text: str, argument: Argument) -> Missed | None:
    used = [term for term in words_of(argument) if term in text]
    return ("term_forbidden", {"term": used[0]}) if used else None


def _roc_date(text: str, argument: Argument) -> Missed | None:
    year, month, day = (part.lstrip("0") for part in str(argument).split("-"))
    gap = r"[ \t]*0?"
    wanted = rf"民國{gap}{year}{gap[:-2]}年{gap}{month}{gap[:-2]}月{gap}{day}[ \t]*日"
    if re.search(wanted, text):
        return None
    return "roc_date_missing", {"date": f"民國 {year} 年 {month} 月 {day} 日"}


def _number(text: str, argument: Argument) -> Missed | None:
    numbers = {match.replace(",", "") for match in re.findall(r"\d[\d,]*(?:\.\d+)?", text)}
    number = str(argument).replace(",", "")
    return None if number in numbers else ("number_missing", {"number": number})


def _starts(text: str, argument: Argument) -> Missed | None:
    if any(text.startswith(tuple(term.split("|"))) for term in words_of(argument)):
        return None
    return "wrong_start", {"term": words_of(argument)[0].split("|")[0]}


def _ends(text: str, argument: Argument) -> Missed | None:
    bare = text.rstrip("。！? \n")
    if any(bare.endswith(tuple(term.split("|"))) for term in words_of(argument)):
        return None
    return "wrong_end", {"term": words_of(argument)[0].split("|")[0]}


CHECKS: Mapping[str, Callable[[str, Argument], Missed | None]] = {
    "items": _exactly("wrong_items", shape.items),
    "item_length": _item_length,
    "max_length": _max_length,
    "min_length": _min_length,
    "sentences": _exactly("wrong_sentences", shape.sentences),
    "paragraphs": _exactly("wrong_paragraphs", shape.paragraphs),
    "lines": _exactly("wrong_lines", shape.lines),
    "format": _format,
    "keys": lambda text, argument: structured.keys(text, words_of(argument)),
    "tool": lambda text, argument: structured.tool(text, str(argument)),
    "arguments": lambda text, argument: structured.arguments(text, words_of(argument)),
    "terms": _terms,
    "not_terms": _not_terms,
    "roc_date": _roc_date,
    "number": _number,
    "starts": _starts,
    "ends": _ends,
}


def missed(text: str, prompt: Prompt) -> Iterator[Finding]:
    """A finding for each instruction that was not followed."""
    for outcome in outcomes(text, prompt):
        if outcome.finding is not None:
            yield outcome.finding

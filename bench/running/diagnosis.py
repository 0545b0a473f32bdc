"""Why an engine did not start, or does not run as it should: the root cause in its log.

``python -m bench diagnose <logfile>`` prints it. Nothing here changes a setting: a diagnosis
suggests. The log is read line by line, whatever its size; one finding a cause is kept.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from bench.errors import BenchError, Fault, Field
from bench.running.symptoms import SYMPTOMS, Symptom
from bench.text import Words, words
from engines.stages import plain

LINE_LIMIT = 16_384
"""Characters of a line that are looked at."""
SHOWN = 300
"""Characters of a line that are shown."""


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    code: str
    fields: dict[str, Field] = msgspec.field(default_factory=dict)
    line: str = ""
    """The line of the log that shows the cause."""
    number: int | None = None
    """Its number, from 1."""
    ends: bool = True
    """False: the engine runs, but not as it should."""

    @property
    def fault(self) -> Fault:
        """Cause and remedy as they are stored with a run; `Words.fault` says both."""
        remedy = Fault(code=f"diagnosis.{self.code}.remedy", fields=self.fields)
        return Fault(code=f"diagnosis.{self.code}.cause", fields=self.fields, remedy=remedy)

    def cause(self, words: Words) -> str:
        return words(f"diagnosis.{self.code}.cause", **self.fields)

    def remedy(self, words: Words) -> str:
        return words(f"diagnosis.{self.code}.remedy", **self.fields)


class _Seen(msgspec.Struct):
    """The first line of each weight since the engine was last ready."""

    cause: Diagnosis | None = None
    warning: Diagnosis | None = None
    """A cause that the log itself calls a warning: it counts once the engine has ended."""
    advice: Diagnosis | None = None
    vague: Diagnosis | None = None
    error: Diagnosis | None = None
    """The first error of a kind not known here."""


def diagnose(
    lines: Iterable[str], exit_code: int | None = None, oom_killed: bool = False
) -> Diagnosis | None:
    """The root cause that a log shows; None when there is nothing to say.

    ``exit_code`` and ``oom_killed`` are the container's own; None is "still runs, or not known".
    What was logged before the engine became ready ended nothing and is dropped, advice excepted.
    """
    seen = _Seen()
    for number, raw in enumerate(lines, start=1):
        line = plain(raw[:LINE_LIMIT])
        if any(word in line for word in _READY):
            seen = _Seen(advice=seen.advice)
            continue
        if not _INFORMS.search(line):
            _look(seen, line, number)
    return _verdict(seen, exit_code, oom_killed)


def read_lines(path: Path) -> Iterator[str]:
    """The lines of a file of any size; a line longer than the limit comes in pieces."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            yield from iter(lambda: file.readline(LINE_LIMIT), "")
    except OSError as fault:
        raise BenchError("log_unreadable", path=str(path), reason=fault.strerror or "") from fault


def main(argv: Sequence[str]) -> int:
    """``diagnose <logfile> [--exit-code N] [--oom-killed] [--language en|zh-TW]``."""
    parser = argparse.ArgumentParser(
        prog="python -m bench diagnose", description="Print why an engine failed, and what to do."
    )
    parser.add_argument("logfile", type=Path, help="the engine's log")
    parser.add_argument("--exit-code", type=int, help="exit status of the engine, where known")
    parser.add_argument("--oom-killed", action="store_true", help="Docker says OOMKilled")
    parser.add_argument("--language", choices=("en", "zh-TW"), default="en")
    options = parser.parse_args(argv)
    tell = words(options.language)
    try:
        found = diagnose(read_lines(options.logfile), options.exit_code, options.oom_killed)
    except BenchError as error:
        print(tell.fault(error.fault), file=sys.stderr)
        return 2
    if found is None:
        print(tell("diagnosis.none"))
        return 0
    print(found.cause(tell))
    print(found.remedy(tell))
    if found.number:
        print(tell("diagnosis.line", number=found.number, line=found.line))
    return 1 if found.ends else 0


_READY = ("Application startup complete", "server is listening on", "init: listening on")
_INFORMS = re.compile(r"^(?:\(.*?\) )?(?:DEBUG|INFO) \d\d-\d\d ")
"""vLLM's own words that a line is no problem; llama.cpp says at that level that no GPU is used."""
_LEVEL = re.compile(r"\b(DEBUG|INFO|WARNING) \d\d-\d\d|^(?:\[\d+\] )?\d+(?:\.\d{2,3})+ ([DIW]) ")
_ERROR = re.compile(r"(?:^|\s)((?:\w+\.)*\w*(?:Error|Exception): .+|error: .+)")
_SIGNALS = {132: "exit_illegal", 134: "exit_crash", 139: "exit_crash", 126: "exit_not_program",
            127: "exit_no_command"}  # fmt: skip
_STOPPED = {0, 130, 143}


def _look(seen: _Seen, line: str, number: int) -> None:
    for symptom in SYMPTOMS:
        if symptom.text not in line:
            continue
        fields = _fields(symptom, line)
        if fields is None:
            continue
        found = Diagnosis(code=symptom.code, fields=fields, line=line.strip()[:SHOWN],
                          number=number, ends=symptom.weight != "advice")  # fmt: skip
        weight = _weight(symptom, line)
        if weight and getattr(seen, weight) is None:
            setattr(seen, weight, found)
        return
    if seen.error is None and "rror" in line and (match := _ERROR.search(line)):
        message = match[1].strip()[:SHOWN]
        seen.error = Diagnosis(code="unknown", fields={"message": message},
                               line=line.strip()[:SHOWN], number=number)  # fmt: skip


def _weight(symptom: Symptom, line: str) -> str | None:
    """A cause in a line that the log calls a warning weighs less, in an INFO line nothing."""
    if symptom.weight != "cause":
        return symptom.weight
    match = _LEVEL.search(line)
    level = match and (match[1] or match[2])[0]
    return {None: "cause", "W": "warning"}.get(level)


def _fields(symptom: Symptom, line: str) -> dict[str, Field] | None:
    """The figures of a line; None when it is not the symptom after all."""
    if symptom.pattern is None:
        return {}
    match = symptom.pattern.search(line)
    if match is None:
        return None
    fields: dict[str, Field] = {name: text or "?" for name, text in match.groupdict().items()}
    if symptom.code == "memory_at_start":
        fields["suggestion"] = f"{_share(float(match['free']), float(match['total'])):.2f}"
    return fields


def _share(free: float, total: float) -> float:
    """The largest share to ask for: two decimals down, and one hundredth to spare."""
    return max(0.0, math.floor(free / total * 100) / 100 - 0.01) if total else 0.0


def _verdict(seen: _Seen, exit_code: int | None, oom_killed: bool) -> Diagnosis | None:
    ended = exit_code is not None and exit_code not in _STOPPED
    if seen.cause:
        return seen.cause
    if oom_killed:
        return Diagnosis(code="exit_memory_limit")
    if exit_code in (137, -9):
        return Diagnosis(code="exit_killed")
    if ended and seen.warning:
        return seen.warning
    if code := _SIGNALS.get(128 - exit_code if exit_code and exit_code < 0 else exit_code or 0):
        return Diagnosis(code=code)
    if seen.vague or ended:
        found = seen.error or seen.vague
        return found or Diagnosis(code="exit_unknown", fields={"status": exit_code or 0})
    return seen.advice

"""``python -m bench chinese FILE``: what in a text is not Taiwan's Chinese, and why."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from bench.chinese import Finding, check, explanation, summary
from bench.chinese.literacy import can_write
from bench.errors import BenchError
from bench.text import LANGUAGES, Words, preferred, words


def main(argv: Sequence[str]) -> int:
    """0: nothing that counts was found; 1: something was, or the file cannot be read."""
    parser = argparse.ArgumentParser(prog="python -m bench chinese", description=__doc__)
    parser.add_argument("file", help="a UTF-8 text file, or - for standard input")
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    parser.add_argument("--language", choices=LANGUAGES, default=preferred(os.environ.get("LANG")))
    asked = parser.parse_args(argv)
    t = words(asked.language)
    try:
        text = read(asked.file)
    except BenchError as error:
        print(t.fault(error.fault), file=sys.stderr)
        return 1
    findings = check(text)
    if asked.json:
        print(msgspec.json.encode(as_values(text, findings, t)).decode())
    else:
        print("\n".join(lines(text, findings, t)))
    return int(any(one.severity != "hint" for one in findings))


def read(file: str) -> str:
    """Raises BenchError ``chinese_file`` for what cannot be read as UTF-8 text."""
    try:
        raw = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        return raw.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as fault:
        raise BenchError("chinese_file", path=file) from fault


def lines(text: str, findings: Sequence[Finding], t: Words) -> Iterator[str]:
    """A line a finding, then one that sums up."""
    for one in findings:
        line, column = place(text, one.start)
        where = t("chinese.report.place", line=line, column=column)
        severity = t(f"chinese.severity.{one.severity}")
        yield f"{where} · {severity} · {explanation(one, t)}"
    counts = {level: sum(one.severity == level for one in findings) for level in _LEVELS}
    length = summary(findings, text).characters
    yield t("chinese.report.count", length=length, **{f"{k}s": v for k, v in counts.items()})
    literacy = can_write([text])
    if literacy.level == "no":
        yield from (t(f"chinese.reason.{reason}") for reason in literacy.reasons)


_LEVELS = ("error", "warning", "hint")


def place(text: str, index: int) -> tuple[int, int]:
    """Line and column, both from 1."""
    return text.count("\n", 0, index) + 1, index - (text.rfind("\n", 0, index) + 1) + 1


def as_values(text: str, findings: Sequence[Finding], t: Words) -> dict[str, Any]:
    return {
        "summary": summary(findings, text),
        "literacy": can_write([text]),
        "findings": [
            {**msgspec.to_builtins(one), "explanation": explanation(one, t)} for one in findings
        ],
    }

"""Other tools as judges of the same kind: text in, the places that they would change out.

They are optional. A tool that is not installed is None, and the benchmark says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from importlib import import_module
from typing import Any

from bench.chinese import check

Judge = Callable[[str], Sequence[tuple[int, int]]]
"""Places (start, end) that a tool finds fault with."""


def ours(text: str) -> Sequence[tuple[int, int]]:
    return [(one.start, one.end) for one in check(text) if one.severity != "hint"]


def peers() -> dict[str, Judge | None]:
    """By name; None where the package is missing."""
    return {
        "OpenCC s2tw": _opencc("s2tw"),
        "OpenCC s2twp": _opencc("s2twp"),
        "hanzidentifier": _hanzidentifier(),
        "zhtw": _zhtw(),
    }


def changed(before: str, after: str) -> Sequence[tuple[int, int]]:
    """Places of ``before`` that are otherwise in ``after``."""
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    return [(i, max(j, i + 1)) for tag, i, j, _, _ in matcher.get_opcodes() if tag != "equal"]


def _opencc(configuration: str) -> Judge | None:
    """ "Convert and compare": what conversion to Taiwan's form would change is a fault."""
    package = _package("opencc")
    if package is None:
        return None
    converter = package.OpenCC(configuration)
    return lambda text: changed(text, converter.convert(text))


def _hanzidentifier() -> Judge | None:
    """It judges a whole sentence: Simplified or mixed is a fault everywhere in it."""
    package = _package("hanzidentifier")
    if package is None:
        return None
    faulty = (package.SIMPLIFIED, package.MIXED)
    return lambda text: [(0, len(text))] if package.identify(text) in faulty else []


def _zhtw() -> Judge | None:
    package = _package("zhtw")
    return None if package is None else lambda text: changed(text, package.convert(text))


def _package(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        return None

"""The tables that the checks look things up in, read once from ``data/chinese/``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec

FOLDER = Path(__file__).parents[2] / "data" / "chinese"


class Hard(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A character that needs judgement: when it is wrong in Taiwan, and when it is right."""

    verdict: Literal["flag", "never", "depends", "words"]
    wrong: tuple[str, ...] = ()
    right: tuple[str, ...] = ()
    taiwan: str = ""
    """Taiwan's form, where the first one of OpenCC's table is not meant."""
    note: str


def big5(character: str) -> bool:
    """Whether plain Big5 holds it; Big5-HKSCS holds Japanese and Simplified forms too."""
    try:
        character.encode("big5")
    except UnicodeEncodeError:
        return False
    return True


@cache
def simplified() -> Mapping[str, str]:
    """Characters that may be Simplified, and Taiwan's form of each: those of the table, and those
    that ``rules/hard.toml`` decides."""
    taiwan = {form: targets[0] for form, targets in opencc("TWVariants").items()}
    table = opencc("STCharacters")
    forms = dict.fromkeys([*outside_big5(), *(form for form in hard() if form in table)])
    first = {form: next(t for t in table[form] if t != form) for form in forms}
    return {form: hard_taiwan(form) or taiwan.get(t, t) for form, t in first.items()}


@cache
def outside_big5() -> Sequence[str]:
    """Characters that OpenCC's own list of their Traditional forms leaves out and that Big5 does
    not hold: Simplified without a doubt."""
    return [form for form in changed() if not big5(form)]


@cache
def changed() -> Sequence[str]:
    """Characters that OpenCC always changes. Those that Big5 holds are in ``rules/hard.toml``."""
    return [form for form, targets in opencc("STCharacters").items() if form not in targets]


def hard_taiwan(form: str) -> str:
    return hard()[form].taiwan if form in hard() else ""


@cache
def hard() -> Mapping[str, Hard]:
    return msgspec.convert(_toml("hard"), dict[str, Hard])


@cache
def variants() -> Mapping[str, str]:
    """Traditional forms that are not usual in Taiwan, and Taiwan's form of each."""
    rules = _toml("variants")
    allowed = set(rules["allowed"]["forms"])
    added: dict[str, str] = rules["added"]
    table = {form: targets[0] for form, targets in opencc("TWVariants").items()}
    return {form: taiwan for form, taiwan in table.items() if form not in allowed} | added


@cache
def opencc(name: str) -> Mapping[str, tuple[str, ...]]:
    """One of OpenCC's tables: a form and what it may become."""
    lines = (FOLDER / "opencc" / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    pairs = (line.split("\t") for line in lines if line and not line.startswith("#"))
    return {form: tuple(targets.split(" ")) for form, targets in pairs}


def _toml(name: str) -> dict[str, Any]:
    return tomllib.loads((FOLDER / "rules" / f"{name}.toml").read_text(encoding="utf-8"))

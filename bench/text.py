"""The words of the interface, in English and in the Traditional Chinese of Taiwan.

``data/text/*.toml`` holds one table a topic; each key has both languages beside each other, so
that a missing translation is seen where it is missing. Whole sentences with named fields, never
glued fragments.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from bench.errors import Fault, Field

FOLDER = Path(__file__).parents[1] / "data" / "text"
LANGUAGES = {"en": "English", "zh-TW": "繁體中文"}


class Words:
    """Sentences in one language: ``words("en")("run.title", model="Qwen")``."""

    def __init__(self, language: str, sentences: Mapping[str, str]) -> None:
        self.language = language
        self._sentences = sentences

    def __call__(self, key: str, /, **fields: Field) -> str:
        return self._sentences[key].format(**fields)

    def __contains__(self, key: str) -> bool:
        return key in self._sentences

    def fault(self, fault: Fault) -> str:
        """The sentences of an error, or its code when a newer version stored one unknown here."""
        key = fault.code if "." in fault.code else f"errors.{fault.code}"
        said = self(key, **fault.fields) if key in self else self("errors.unknown", code=fault.code)
        return f"{said} {self.fault(fault.remedy)}" if fault.remedy else said


def preferred(locale: str | None) -> str:
    """The interface language for a browser's locale: any Chinese reader gets zh-TW."""
    return "zh-TW" if locale and locale.lower().startswith("zh") else "en"


@cache
def words(language: str) -> Words:
    return Words(language, _sentences()[language])


@cache
def _sentences() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {language: {} for language in LANGUAGES}
    for file in sorted(FOLDER.glob("*.toml")):
        try:
            tables = tomllib.loads(file.read_text(encoding="utf-8"))
        except tomllib.TOMLDecodeError as fault:
            raise ValueError(f"{file.name}: {fault}") from fault
        for key, entry in _entries(tables):
            if set(entry) != set(LANGUAGES):
                raise ValueError(f"{file.name}: [{key}] needs exactly {', '.join(LANGUAGES)}")
            if key in found["en"]:
                raise ValueError(f"{file.name}: [{key}] is in another file already")
            for language, sentence in entry.items():
                found[language][key] = sentence
    return found


def _entries(table: Mapping[str, object], above: str = "") -> list[tuple[str, dict[str, str]]]:
    entries: list[tuple[str, dict[str, str]]] = []
    for name, value in table.items():
        key = f"{above}{name}"
        if not isinstance(value, dict):
            raise ValueError(f"[{above.rstrip('.')}] {name}: a sentence needs a key of its own")
        if any(isinstance(inner, dict) for inner in value.values()):
            entries += _entries(value, f"{key}.")
        else:
            entries.append((key, value))
    return entries

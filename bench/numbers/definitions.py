"""The definition of every metric: one source for the interface, the documentation and imports.

``data/metrics.toml`` says what a metric is and how it maps to other tools,
``data/text/metrics.toml`` how it is called and explained. ``python -m bench.numbers.definitions``
writes the list in docs/measuring.md anew; a test fails when it lags.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import msgspec

from bench.text import Words, words

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "data" / "metrics.toml"
DOCUMENT = ROOT / "docs" / "measuring.md"
BEGIN, END = (
    "<!-- metrics: written by `python -m bench.numbers.definitions` -->",
    "<!-- end of metrics -->",
)
TOOLS = {
    "vllm-bench": "vllm bench serve",
    "guidellm": "GuideLLM",
    "aiperf": "AIPerf",
    "llama-benchy": "llama-benchy",
    "llama-bench": "llama-bench",
}


class Counterpart(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What another tool has for a metric; ``–`` is nothing."""

    name: str
    same: bool = False
    """True when its number means the same as ours and may be compared with it."""
    note: str = ""


class Definition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    unit: str
    formula: str
    counted: str
    source: str
    why: str
    tools: Mapping[str, Counterpart]


@cache
def definitions() -> Mapping[str, Definition]:
    """Every metric by its key. Raises ValueError for a fault in the file, with the key."""
    found = tomllib.loads(SOURCE.read_text(encoding="utf-8"))
    try:
        table = msgspec.convert(found, dict[str, Definition])
    except msgspec.ValidationError as fault:
        raise ValueError(f"{SOURCE.name}: {fault}") from fault
    for key, definition in table.items():
        if set(definition.tools) != set(TOOLS):
            raise ValueError(f"{SOURCE.name}: [{key}.tools] needs exactly {', '.join(TOOLS)}")
    return table


def same(metric: str, tool: str) -> bool:
    """Whether the number that `tool` gives for `metric` may stand beside ours."""
    return tool == "ours" or definitions()[metric].tools[tool].same


def name(metric: str, t: Words) -> str:
    """What the interface calls a metric."""
    return t(f"metrics.{metric}")


def sentence(metric: str, t: Words) -> str:
    """What a metric is, in one plain sentence."""
    return t(f"definitions.{metric}")


def markdown() -> str:
    """The list of metrics for docs/measuring.md."""
    return "\n".join(_section(key, one) for key, one in definitions().items())


def document(text: str) -> str:
    """`text` of docs/measuring.md with its list of metrics as it is now."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{markdown()}\n{END}{after}"


def _section(key: str, one: Definition) -> str:
    english, chinese = words("en"), words("zh-TW")
    rows = [
        f"| {TOOLS[tool]} | {other.name} | {'yes' if other.same else 'no'} | {other.note} |"
        for tool, other in one.tools.items()
        if other.name != "–" or other.note
    ]
    table = ["| Tool | Its name | Same number | |", "|---|---|---|---|", *rows, ""] if rows else []
    return "\n".join(
        [
            f"### {name(key, english)}",
            "",
            f"`{key}` · unit: {one.unit} · {name(key, chinese)}",
            "",
            sentence(key, english),
            "",
            sentence(key, chinese),
            "",
            f"- Formula: {one.formula}",
            f"- Counted: {one.counted}",
            f"- Source: {one.source}",
            f"- Why so: {one.why}",
            "",
            *table,
        ]
    )


if __name__ == "__main__":
    DOCUMENT.write_text(document(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")

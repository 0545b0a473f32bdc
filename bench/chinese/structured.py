"""JSON answers and tool calls: is the structure the one that was asked for?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bench.chinese import shape
from bench.errors import Field

Missed = tuple[str, Mapping[str, Field]]
TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}


def is_json(text: str) -> bool:
    try:
        shape.parsed(text)
    except ValueError:
        return False
    return True


def keys(text: str, wanted: Sequence[str]) -> Missed | None:
    """Keys of the object, or of each object of the list; ``name:type`` checks the value."""
    try:
        value = shape.parsed(text)
    except ValueError:
        return "not_json", {}
    entries = value if isinstance(value, list) else [value]
    for entry in entries or [None]:
        for want in wanted:
            name, _, kind = want.partition(":")
            if not isinstance(entry, dict) or name not in entry:
                return "key_missing", {"key": name}
            if kind and not _is(entry[name], kind):
                return "wrong_type", {"key": name, "type": kind}
    return None


def _is(value: Any, kind: str) -> bool:
    return isinstance(value, TYPES[kind]) and isinstance(value, bool) == (kind == "boolean")


def tool(text: str, name: str) -> Missed | None:
    """A call of the tool ``name``: an object with its name and its arguments."""
    call = _call(text)
    if call is None:
        return "not_tool_call", {"tool": name}
    return None if call[0] == name else ("wrong_tool", {"tool": name, "got": call[0]})


def arguments(text: str, wanted: Sequence[str]) -> Missed | None:
    """Arguments of the call: ``key`` must be there, ``key=a|b`` must have one of these values."""
    call = _call(text)
    if call is None:
        return "not_tool_call", {"tool": ""}
    for want in wanted:
        key, _, values = want.partition("=")
        if key not in call[1]:
            return "argument_missing", {"key": key}
        got = str(call[1][key])
        if values and got not in values.split("|"):
            return "wrong_argument", {"key": key, "asked": values.split("|")[0], "got": got}
    return None


def _call(text: str) -> tuple[str, Mapping[str, Any]] | None:
    """Name and arguments of a tool call, in the usual spellings of it."""
    try:
        value = shape.parsed(text)
    except ValueError:
        return None
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, dict) and isinstance(value.get("function"), dict):
        value = value["function"]
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        return None
    given = value.get("arguments", value.get("parameters"))
    return (value["name"], given) if isinstance(given, dict) else None

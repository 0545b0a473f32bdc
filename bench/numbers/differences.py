"""What differs between the settings of runs, and only that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One setting that is not the same everywhere."""

    key: str
    """Dotted: ``recipe.flags.max-num-seqs``."""
    values: tuple[str | None, ...]
    """One for each run, in their order; None where a run has no such setting."""


def differences(*settings: Mapping[str, Any]) -> tuple[Difference, ...]:
    """The settings that differ between two runs or more, by key.

    Nested tables become dotted keys. A list of arguments is read as flags, so that an order of
    arguments is no difference and a changed flag is one, not a whole changed command.
    """
    flat = [_flat(one) for one in settings]
    keys = sorted({key for one in flat for key in one})
    rows = (Difference(key=key, values=tuple(one.get(key) for one in flat)) for key in keys)
    return tuple(row for row in rows if len(set(row.values)) > 1)


def _flat(value: Any, above: str = "") -> dict[str, str]:
    if isinstance(value, Mapping):
        return {
            key: text
            for name, inner in value.items()
            for key, text in _flat(inner, f"{above}.{name}" if above else str(name)).items()
        }
    if isinstance(value, list | tuple):
        if any(isinstance(item, str) and item.startswith("--") for item in value):
            return _flat(_flags(value), above)
        return {above: ", ".join(str(item) for item in value)} if value else {}
    return {} if value is None else {above: str(value)}


def _flags(arguments: Sequence[Any]) -> dict[str, str]:
    """Arguments as a table: the words before the first flag, then each flag with its value."""
    found: dict[str, list[str]] = {"command": []}
    name = "command"
    for argument in map(str, arguments):
        if argument.startswith("--"):
            name, _, value = argument.partition("=")
            found[name] = [value] if value else []
        else:
            found[name].append(argument)
    return {name: " ".join(values) or "on" for name, values in found.items() if name or values}

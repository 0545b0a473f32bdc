"""What a file for others leaves out: people, machines, folders and where keys are kept.

Words of a run are looked through one by one: the names that are known of this run and machine
become ``…``, and of a folder only its last part stays. Answers of models are left as they are.
"""

from __future__ import annotations

import getpass
import re
import socket
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from bench.store import Run

GONE = "…"
HARMLESS = frozenset({"", "local", "localhost", "127.0.0.1", "::1", "root", "host", "0.0.0.0"})
"""Words that say nothing of a place or a person, and stand in sentences of all kinds."""
DROPPED = {"holders": "paths"}
"""Facts that are left out whole: the programs that ran beside."""
_FOLDER = re.compile(r"(?<![\w./:…-])(?:~|/)(?:[^\s/'\":,;]+/)*[^\s/'\":,;]+/([^\s/'\":,;]*)")
_HOME = re.compile(r"/home/([^/\s'\":,;]+)|/Users/([^/\s'\":,;]+)")


class Redaction:
    """Takes names out of values and remembers what kinds there were."""

    def __init__(self, people: Iterable[str], hosts: Iterable[str]) -> None:
        self.left_out: set[str] = set()
        """``owners``, ``hosts``, ``paths``, ``keys``."""
        self._names = {"owners": _known(people), "hosts": _known(hosts)}

    def value(self, value: Any) -> Any:
        """The same value without what is left out."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {str(name): self._named(str(name), inner) for name, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(one) for one in value]
        return value

    def text(self, text: str) -> str:
        for name in (found for pair in _HOME.findall(text) for found in pair):
            if len(name) > 2:
                self._names["owners"] |= _known([name])
        made = self._said("paths", text, _FOLDER.sub(rf"{GONE}/\1", text))
        for kind, names in self._names.items():
            for name in sorted(names, key=len, reverse=True):
                made = self._said(
                    kind, made, re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", GONE, made)
                )
        return made

    def _named(self, name: str, value: Any) -> Any:
        if name == "key_env" and value:
            self.left_out.add("keys")
            return None
        if name == "owner" and value:
            self.left_out.add("owners")
            return ""
        if name in DROPPED and value:
            self.left_out.add(DROPPED[name])
            return []
        return self.value(value)

    def _said(self, kind: str, before: str, after: str) -> str:
        if after != before:
            self.left_out.add(kind)
        return after


def of_run(run: Run) -> Redaction:
    """What is to be taken out of everything that is said of a run."""
    hosts = [run.host, run.plan.host, socket.gethostname(), host_of(run.plan.recipe.url)]
    return Redaction([run.owner, run.plan.owner, _user()], hosts)


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""


def host_of(url: str | None) -> str:
    """The machine that an address names."""
    return (urlsplit(url or "").hostname or "") if url else ""


def _known(names: Iterable[str]) -> set[str]:
    return {name for name in names if len(name) > 2 and name.casefold() not in HARMLESS}

"""Errors that a person can act on.

An error is a code with fields, not a sentence: pages show it in the reader's language, a shell in
English. The sentences are in ``data/text/errors.toml``, one entry a code, each saying what was
wrong, where, and what to do. One failing request is not an error here but data (`Sample.error`).
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

Field = str | int | float


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """What is stored of an error: the code of a sentence and the values in it."""

    code: str
    fields: Mapping[str, Field] = msgspec.field(default_factory=dict)


class BenchError(Exception):
    """Something a person can act on. Pages show it, the worker stores it with the run."""

    def __init__(self, code: str, /, **fields: Field) -> None:
        super().__init__(code)
        self.fault = Fault(code=code, fields=fields)

    def __str__(self) -> str:
        from bench.text import words  # here, because text.py raises this error for a bad file

        return words("en").fault(self.fault)

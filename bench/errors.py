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
    """What is stored of an error: the key of a sentence and the values in it."""

    code: str
    """A key of ``errors.toml``, or with a dot in it the whole key of any sentence."""
    fields: Mapping[str, Field] = msgspec.field(default_factory=dict)
    remedy: Fault | None = None
    """A second sentence, where what to do depends on more than what was wrong."""


class BenchError(Exception):
    """Something a person can act on. Pages show it, the worker stores it with the run."""

    def __init__(self, code: str, /, **fields: Field) -> None:
        super().__init__(code)
        self.fault = Fault(code=code, fields=fields)

    @classmethod
    def of(cls, fault: Fault) -> BenchError:
        """The error of a fault that was found elsewhere."""
        error = cls(fault.code)
        error.fault = fault
        return error

    def __str__(self) -> str:
        from bench.text import words  # here, because text.py raises this error for a bad file

        return words("en").fault(self.fault)

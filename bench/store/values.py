"""What is stored of a run, as values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from bench.errors import Fault
from bench.plan import Plan
from bench.sample import Sample

State = Literal[
    "queued",
    "preparing",
    "loading",
    "warming",
    "measuring",
    "judging",
    "done",
    "failed",
    "cancelled",
    "interrupted",
]
RUNNING: tuple[State, ...] = ("preparing", "loading", "warming", "measuring", "judging")
LIVE: tuple[State, ...] = ("queued", *RUNNING)


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A run's row; its levels, answers and events are read apart."""

    id: str
    state: State
    source: str
    """``measured`` or ``imported``."""
    created: str
    started: str | None
    finished: str | None
    title: str
    model: str
    model_name: str
    artifact: str | None
    engine: str
    host: str
    workload: str
    owner: str
    cancel: bool
    plan: Plan
    facts: Mapping[str, Any]
    """What was learnt on the way, by name: ``engine_version``, ``image_digest``, ``launch``,
    ``command``, ``load_seconds``, ``slots``, ``context``…"""
    fault: Fault | None

    @property
    def live(self) -> bool:
        return self.state in LIVE


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened in a run: a state, a loading stage, a level's progress."""

    id: int
    at: str
    kind: str
    data: Mapping[str, Any]


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """One kept answer; ``sample`` holds its text and times."""

    prompt: str
    repeat: int
    language: str
    question: str
    sample: Sample

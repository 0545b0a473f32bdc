"""Plan: what one run will do, as a value that round-trips through JSON."""

from __future__ import annotations

import msgspec

from bench.catalogue import Prompt, Workload
from engines import Recipe


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a worker needs to do a run, and a reader to repeat it."""

    title: str
    model: str
    """Catalogue id, or for an endpoint the name it serves."""
    model_name: str
    artifact: str | None
    engine: str
    host: str = "local"
    recipe: Recipe
    workload: Workload
    prompts: tuple[Prompt, ...]
    """The answer prompts themselves: a later change of the catalogue changes no run."""
    seed: int
    """Makes this run's prompts unlike any other run's, and repeatable."""
    artifact_bytes: int | None = None
    keep_running: bool = False
    """Whether its engine is left running for the next run of the same launch."""
    fetch_image: bool = True
    """Whether an image that is missing may be fetched: somebody was asked."""
    owner: str = ""
    """Who started it, for people to find their runs."""
    override_tight: bool = False


def encode(plan: Plan) -> str:
    return msgspec.json.encode(plan).decode()


def decode(text: str) -> Plan:
    return msgspec.json.decode(text, type=Plan)

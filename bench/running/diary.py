"""A run's diary: its state, its events and what was learnt, each entry a short write of its own."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from bench import store
from bench.config import Config
from bench.errors import Fault
from bench.store import State

log = logging.getLogger("bench.worker")


class Diary:
    def __init__(self, config: Config, run: str) -> None:
        self._config = config
        self._run = run

    def enter(self, state: State) -> None:
        with store.opened(self._config.database) as db:
            store.enter(db, self._run, state)

    def fail(self, fault: Fault) -> None:
        log.warning("run %s failed: %s", self._run, fault)
        with store.opened(self._config.database) as db:
            store.fail(db, self._run, fault)

    def learn(self, **facts: Any) -> None:
        with store.opened(self._config.database) as db:
            store.learn(db, self._run, facts)

    def note(self, kind: str, **data: Any) -> None:
        with store.opened(self._config.database) as db:
            store.event(db, self._run, kind, data)

    def cancelled(self) -> bool:
        with store.opened(self._config.database) as db:
            return store.cancelling(db, self._run)

    def keep(self, rows: Sequence[tuple[float, Mapping[str, Any]]]) -> None:
        """Store readings of the machine and the engine."""
        if rows:
            with store.opened(self._config.database) as db:
                store.save_telemetry(db, self._run, rows)

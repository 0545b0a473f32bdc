"""What a worker does beside runs: clean up after a killed one, look at its machine, end engines on
request, and watch those that were kept."""

from __future__ import annotations

import logging
import time
from contextlib import closing
from pathlib import Path

from bench import store
from bench.config import Config
from bench.errors import BenchError
from bench.kept import labels
from bench.machine import host, machines, seen
from bench.machine.host import GIB
from bench.machine.seen import Seen
from bench.running import obtain, roster
from engines import docker, images, leftovers, process

log = logging.getLogger("bench.worker")
BALLAST = 1 << 20
"""Bytes kept back, so that a run that fills the disk can still be ended in the store."""
PERIOD = 5.0
"""Seconds between two looks at whether a kept engine is still there."""


def ballast(config: Config) -> Path:
    """A file that is given up when the disk is full."""
    return config.var / "ballast"


def begin(config: Config) -> None:
    """What a killed worker left: runs that say they are running, engines that still do."""
    ballast(config).write_bytes(bytes(BALLAST))
    with store.opened(config.database) as db:
        for run in labels.purge(db):
            log.info("run %s, deleted %d days ago, is removed", run, labels.KEPT)
        for run in store.interrupt(db, config.machine):
            log.warning("run %s was interrupted", run)
        kept = [engine.run for engine in roster.kept(db, config.machine) if not engine.stop]
    left = process.stop_strays(config.var) if config.machine == machines.LOCAL else []
    try:
        left += leftovers.stop_strays(config.var, config.docker_host, keep=kept)
        _count(config)
    except BenchError as error:
        log.info("no containers to look at: %s", error.fault.code)
    for run in left:
        log.warning("the engine of run %s was still there", run)
    look(config)


def look(config: Config) -> None:
    """Tell the pages which images are on the machine."""
    try:
        with closing(docker.client(config.docker_host)) as client:
            found = Seen(images=images.names(client, config.docker_host))
    except BenchError as error:
        found = Seen(fault=error.fault)
    with store.opened(config.database) as db:
        seen.save(db, config.machine, found)


class Tending:
    """The engines of a machine that were kept, while no run goes on."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._counted = time.monotonic()

    def round(self) -> bool:
        """Once around; whether any is kept, so that its worker has to stay."""
        with store.opened(self._config.database) as db:
            there = roster.of(db, self._config.machine)
        kept = [engine for engine in there if engine.used_by is None and not engine.stop]
        due = time.monotonic() - self._counted > PERIOD
        try:
            for engine in there:
                # no run goes on now: one that a run "uses" could not be stopped at its end
                if engine.stop or (due and engine.used_by is not None):
                    obtain.end(self._config, engine)
                    log.info("the engine of run %s was stopped", engine.run)
            if kept:
                self._watch(kept, due)
        except BenchError as error:
            log.warning("an engine could not be looked at: %s", error.fault.code)
        if due:
            self._counted = time.monotonic()
        return bool(kept)

    def _watch(self, kept: list[roster.Engine], due: bool) -> None:
        if host.available(self._config.proc) < self._config.floor_gib * GIB:
            for engine in kept:
                log.warning("memory is at its floor: the engine of run %s is stopped", engine.run)
                obtain.end(self._config, engine)
                with store.opened(self._config.database) as db:
                    store.event(db, engine.run, "note", {"code": "kept_stopped"})
        elif due:
            _count(self._config)


def _count(config: Config) -> None:
    """Forget engines that are gone."""
    there = leftovers.ours(config.var, config.docker_host)
    with store.opened(config.database) as db:
        roster.only(db, config.machine, {one.run for one in there if one.state == "running"})

"""The engine of a run: one that was kept, if its launch is the same, or a new one."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec

from bench import store
from bench.config import Config
from bench.machine import machines
from bench.running import roster, starting
from bench.running.diary import Diary
from bench.running.preparing import prepare
from bench.store import Run
from engines import Launch, Running, docker, leftovers
from engines.docker import Container

log = logging.getLogger("bench.worker")


class Had(msgspec.Struct, frozen=True, kw_only=True):
    running: Running
    started_by: str
    """The run that started it."""
    warm: bool
    """It ran already: its start was not measured, and its caches are warm."""


@contextmanager
def engine(
    config: Config, run: Run, launch: Launch, diary: Diary, check: Callable[[], None]
) -> Iterator[Had]:
    """The engine, started where it has to be; afterwards it is kept or stopped, whatever happened.

    Engines that were kept for another launch are stopped first: memory is one pool.
    """
    had = _kept(config, run, launch) or _new(config, run, launch, diary, check)
    good = False
    try:
        yield had
        good = True
    finally:
        _give_back(config, had, keep=good and may_keep(config, run))


def may_keep(config: Config, run: Run) -> bool:
    """An engine is kept on this machine only: elsewhere nobody would watch the memory."""
    return run.plan.keep_running and config.machine == machines.LOCAL


def end(config: Config, engine: roster.Engine) -> None:
    """Stop an engine that nobody uses."""
    leftovers.stop(config.var, engine.run, config.docker_host)
    with store.opened(config.database) as db:
        roster.drop(db, engine.run)


def _kept(config: Config, run: Run, launch: Launch) -> Had | None:
    with store.opened(config.database) as db:
        there = roster.of(db, config.machine)
    for one in there:
        usable = one.used_by is None and one.launch == launch
        if usable and (found := _taken(config, run, one)):
            return Had(running=found, started_by=one.run, warm=True)
        if launch.image is not None or launch.argv:
            log.info("the engine of run %s makes room", one.run)
            end(config, one)
    return None


def _taken(config: Config, run: Run, kept: roster.Engine) -> Container | None:
    with store.opened(config.database) as db:
        if not roster.take(db, kept.run, run.id):
            return None
    return docker.attach(kept.container, kept.launch, run.id, config.var, host=config.docker_host)


def _new(config: Config, run: Run, launch: Launch, diary: Diary, check: Callable[[], None]) -> Had:
    prepare(config, run.plan, launch, diary, check)
    check()
    diary.enter("loading")
    running = starting.start(config, run, launch)
    if isinstance(running, Container):
        with store.opened(config.database) as db:
            roster.add(db, run, running.facts()["container"], launch)
    return Had(running=running, started_by=run.id, warm=False)


def _give_back(config: Config, had: Had, *, keep: bool) -> None:
    if not isinstance(had.running, Container):
        had.running.stop()
        return
    if keep:
        had.running.leave()
    else:
        had.running.stop()
    with store.opened(config.database) as db:
        (roster.keep if keep else roster.drop)(db, had.started_by)

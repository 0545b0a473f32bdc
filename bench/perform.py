"""One run, from claimed to ended: start the engine, wait for it, measure, stop it.

Whatever happens, the run ends in a state that says so, what was measured stays, and no engine is
left running.
"""

from __future__ import annotations

import errno
import logging
import sqlite3
from contextlib import ExitStack
from pathlib import Path

import msgspec

from bench import health, host, probe, progress, smi, starting, store
from bench.config import Config
from bench.diary import Diary
from bench.errors import BenchError, Fault
from bench.halt import Cancelled, Halt, watching
from bench.health import HealthStamp
from bench.measure import Session, decode_speed, measure
from bench.preparing import prepare
from bench.store import Run
from bench.target import Target
from bench.telemetry import Telemetry, sampling
from engines import docker, docker_run, process
from engines.launches import launch_for

log = logging.getLogger("bench.worker")
DISK_FULL = ("disk is full", "disk I/O error")
BALLAST = 1 << 20
"""Bytes kept back, so that a run that fills the disk can still be ended in the store."""


def perform(config: Config, run: Run) -> None:
    """Do a claimed run. Raises only what ends the worker itself (SystemExit)."""
    diary = Diary(config, run.id)
    try:
        _perform(config, run, diary)
        diary.enter("done")
    except Cancelled:
        diary.enter("cancelled")
    except BenchError as error:
        diary.fail(error.fault)
    except (SystemExit, KeyboardInterrupt):
        diary.enter("interrupted")
        raise
    except Exception as error:  # the outermost loop: a run must end, and the worker go on
        log.exception("run %s", run.id)
        if _disk_full(error):
            _ballast(config).unlink(missing_ok=True)  # room to say so
            diary.fail(Fault(code="disk_full"))
        else:
            problem = f"{type(error).__name__}: {error}"
            diary.fail(Fault(code="crashed", fields={"problem": problem}))


def _disk_full(error: Exception) -> bool:
    if isinstance(error, sqlite3.OperationalError):
        return any(words in str(error) for words in DISK_FULL)
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)


def _ballast(config: Config) -> Path:
    """A file that is given up when the disk is full."""
    return config.var / "ballast"


def leftovers(config: Config) -> None:
    """What a killed worker left: runs that say they are running, engines that still do."""
    _ballast(config).write_bytes(bytes(BALLAST))
    with store.opened(config.database) as db:
        for run in store.interrupt(db):
            log.warning("run %s was interrupted", run)
    left = process.stop_strays(config.var)
    try:
        left += docker.stop_strays(config.var, config.docker_host)
    except BenchError as error:
        log.info("no containers to look at: %s", error.fault.code)
    for run in left:
        log.warning("the engine of run %s was still there", run)


def _perform(config: Config, run: Run, diary: Diary) -> None:
    plan, key_env = run.plan, run.plan.recipe.key_env
    launch = launch_for(plan.recipe)
    machine = host.read(config.proc, nvidia_smi=smi.ask)
    diary.learn(
        launch=msgspec.to_builtins(launch),
        command=docker_run.command(launch, run.id) if launch.image else None,
        host={
            "product": machine.product,
            "gpu": machine.gpu,
            "memory": machine.memory.total,
            "bandwidth": machine.bandwidth if plan.engine != "endpoint" else None,
        },
    )
    with ExitStack() as stack:
        cancel = Halt([], diary.cancelled)
        prepare(config, plan, launch, diary, cancel.check)
        cancel.check()
        diary.enter("loading")
        running = starting.start(config, run, launch)
        stack.callback(running.stop)
        halt = Halt(starting.looks(config, run, running), diary.cancelled)
        stack.enter_context(watching(halt))
        served = starting.ready(config, run, launch, running, diary, halt.check)
        headers = probe.headers(key_env)
        watched = Telemetry(config, running.url, headers)
        session = Session(
            config=config,
            run=run.id,
            plan=plan,
            target=Target(
                url=running.url, model=launch.served, engine=plan.engine, key_env=key_env
            ),
            count=stack.enter_context(probe.counting(served, headers)),
            slots=served.slots or plan.recipe.slots or None,
            halt=halt,
            progress=stack.enter_context(progress.counting(config, run.id)),
            counters=lambda: probe.metrics(running.url, headers),
            between=lambda: diary.keep(watched.take()),
        )
        stack.enter_context(sampling(watched))
        diary.enter("measuring")
        measure(session)
        diary.enter("judging")
        diary.learn(health=msgspec.to_builtins(_health(config, run, watched, session)))


def _health(config: Config, run: Run, watched: Telemetry, session: Session) -> HealthStamp:
    """The run's health stamp; its canary is the decode test, measured once more at the end."""
    after = decode_speed(session)
    session.between()
    with store.opened(config.database) as db:
        facts = store.facts_of(db, run.model, run.artifact, run.engine)
    past = [
        known["health"]["canary"]["value"]
        for known in facts
        if known.get("health", {}).get("canary")
    ]
    return watched.stamp(None if after is None else health.canary(after, past))

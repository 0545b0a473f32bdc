"""One run, from claimed to ended: start the engine, wait for it, measure, stop it.

Whatever happens, the run ends in a state that says so, what was measured stays, and no engine is
left running.
"""

from __future__ import annotations

import errno
import logging
import sqlite3
from contextlib import ExitStack
from typing import Any

import msgspec

from bench import probe, store
from bench.config import Config
from bench.errors import BenchError, Fault
from bench.machine import health, machines
from bench.machine.health import HealthStamp
from bench.meter.target import Target
from bench.plan import Plan
from bench.running import obtain, progress, starting, upkeep
from bench.running.diary import Diary
from bench.running.halt import Cancelled, Halt, watching
from bench.running.measure import Session, decode_speed, measure
from bench.running.pulse import Pulse
from bench.running.telemetry import Telemetry, sampling
from bench.store import Run
from engines import docker_run
from engines.launches import launch_for

log = logging.getLogger("bench.worker")
DISK_FULL = ("disk is full", "disk I/O error")


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
            upkeep.ballast(config).unlink(missing_ok=True)  # room to say so
            diary.fail(Fault(code="disk_full"))
        else:
            problem = f"{type(error).__name__}: {error}"
            diary.fail(Fault(code="crashed", fields={"problem": problem}))


def _disk_full(error: Exception) -> bool:
    if isinstance(error, sqlite3.OperationalError):
        return any(words in str(error) for words in DISK_FULL)
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)


def _perform(config: Config, run: Run, diary: Diary) -> None:
    plan, key_env = run.plan, run.plan.recipe.key_env
    launch = launch_for(plan.recipe)
    diary.learn(
        launch=msgspec.to_builtins(launch),
        command=docker_run.command(launch, run.id) if launch.image else None,
    )
    with ExitStack() as stack:
        cancel = Halt([], diary.cancelled)
        had = stack.enter_context(obtain.engine(config, run, launch, diary, cancel.check))
        running, pulse = had.running, Pulse()
        halt = Halt([*starting.looks(config, run, running), pulse.look], diary.cancelled)
        stack.enter_context(watching(halt))
        diary.learn(host=_host(config, plan))
        warm = had.started_by if had.warm else None
        served = starting.ready(config, run, launch, running, diary, halt.check, warm)
        headers = probe.headers(key_env)
        watched = Telemetry(config, running.url, headers)
        pulse.counter = watched.moving
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
            power=watched.power,
            pulse=pulse,
            between=lambda: diary.keep(watched.take()),
        )
        stack.enter_context(sampling(watched))
        diary.enter("measuring")
        measure(session)
        diary.enter("judging")
        diary.learn(health=msgspec.to_builtins(_health(config, run, watched, session)))


def _host(config: Config, plan: Plan) -> dict[str, Any]:
    machine = machines.look(config)
    return {
        "product": machine.product,
        "gpu": machine.gpu,
        "memory": machine.memory.total,
        "bandwidth": machine.bandwidth if plan.engine != "endpoint" else None,
    }


def _health(config: Config, run: Run, watched: Telemetry, session: Session) -> HealthStamp:
    """The run's health stamp; its canary is the decode test, measured once more at the end."""
    after = decode_speed(session)
    session.between()
    with store.opened(config.database) as db:
        facts = store.facts_of(db, run)
    past = [
        known["health"]["canary"]["value"]
        for known in facts
        if known.get("health", {}).get("canary")
    ]
    return watched.stamp(None if after is None else health.canary(after, past))

"""One run, from claimed to ended: start the engine, wait for it, measure, stop it.

Whatever happens, the run ends in a state that says so, what was measured stays, and no engine is
left running.
"""

from __future__ import annotations

import logging
import sqlite3
from contextlib import ExitStack
from typing import Any

import msgspec

from bench import loading, probe, progress, store
from bench.config import Config
from bench.errors import BenchError, Fault
from bench.halt import Cancelled, Halt, watching
from bench.measure import Session, measure
from bench.probe import Served
from bench.store import Run, State
from bench.target import Target
from engines import Launch, Recipe, Running, endpoint, process, stages
from engines.launches import launch_for
from engines.stages import Progress

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
    except sqlite3.OperationalError as error:
        if not any(words in str(error) for words in DISK_FULL):
            raise
        log.exception("run %s", run.id)
        diary.fail(Fault(code="disk_full"))
    except Exception as error:  # the outermost loop: a run must end, and the worker go on
        log.exception("run %s", run.id)
        diary.fail(Fault(code="crashed", fields={"problem": f"{type(error).__name__}: {error}"}))


def leftovers(config: Config) -> None:
    """What a killed worker left: runs that say they are running, engines that still do."""
    with store.opened(config.database) as db:
        for run in store.interrupt(db):
            log.warning("run %s was interrupted", run)
    for run in process.stop_strays(config.var):
        log.warning("the engine of run %s was still there", run)


class Diary:
    """The run's row and events, each entry its own short write."""

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


def _perform(config: Config, run: Run, diary: Diary) -> None:
    plan = run.plan
    launch = launch_for(plan.recipe)
    diary.learn(launch=msgspec.to_builtins(launch))
    with ExitStack() as stack:
        diary.enter("loading")
        running = _start(config, run, launch)
        stack.callback(running.stop)
        halt = Halt([lambda: _dead(run, running)], diary.cancelled)
        stack.enter_context(watching(halt))
        served = _ready(running, launch, plan.recipe, halt, diary)
        diary.learn(**running.facts())
        tokens = stack.enter_context(probe.counting(served, probe.headers(plan.recipe.key_env)))
        session = Session(
            config=config,
            run=run.id,
            plan=plan,
            target=Target(
                url=running.url,
                model=launch.served,
                engine=plan.engine,
                key_env=plan.recipe.key_env,
            ),
            count=tokens,
            slots=served.slots or plan.recipe.slots or None,
            halt=halt,
            progress=stack.enter_context(progress.counting(config, run.id)),
        )
        diary.enter("measuring")
        measure(session)
        diary.enter("judging")


def _start(config: Config, run: Run, launch: Launch) -> Running:
    if run.plan.engine == "endpoint":
        return endpoint.Elsewhere(str(run.plan.recipe.url))
    return process.start(launch, run.id, config.var)


def _dead(run: Run, running: Running) -> BenchError | None:
    if (ended := running.poll()) is None:
        return None
    return BenchError("engine_died", engine=run.engine, code=ended.code)


def _ready(running: Running, launch: Launch, recipe: Recipe, halt: Halt, diary: Diary) -> Served:
    """Wait for the engine, telling its stages; returns what it says of itself."""
    headers = probe.headers(recipe.key_env)

    def tell(now: Progress, seconds: float, line: str) -> None:
        diary.note("stage", stage=now.stage, share=now.share, seconds=seconds, text=line[:200])

    loaded = loading.wait_ready(
        running.url,
        launch.served,
        headers,
        engine=recipe.engine,
        log=running.log_path,
        poll=running.poll,
        tell=tell,
        check=halt.check,
    )
    served = probe.served(running.url, headers)
    diary.learn(
        load_seconds=loaded.seconds,
        load=msgspec.to_builtins(loaded.progress.facts),
        stages=stages.durations(loaded.progress, loaded.seconds),
        engine_version=served.version,
        slots=served.slots,
        context=served.context,
        tokenizer="engine" if served.tokenizes else "estimate",
    )
    return served

"""The worker: ``python -m bench.worker``. One run at a time, in a process of its own.

Each machine has its own worker; SPARK_COMPARE_MACHINE says whose this one is. The queue is the
``runs`` table. The lock makes the worker single, and makes a row that says it is
running while the lock is free an interrupted run. It is started on demand and leaves when idle.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from types import FrameType

from bench import config as settings
from bench import store
from bench.config import ROOT, Config
from bench.errors import BenchError
from bench.machine import machines
from bench.plan import Plan
from bench.running import lock, upkeep
from bench.running.perform import perform

log = logging.getLogger("bench.worker")


def submit(config: Config, plan: Plan, token: str | None = None) -> str:
    """Queue a run, see to it that somebody works on it, and return its id."""
    with store.opened(config.database) as db:
        run = store.submit(db, plan, token)
    ensure(config, plan.host)
    return run


def ensure(config: Config, machine: str = machines.LOCAL) -> None:
    """Start a machine's worker when there is none and no service runs it. It outlives this process.

    Raises BenchError ``machine_unknown`` or ``machines_fault``.
    """
    if config.start_worker:
        _spawn(config, machine)


def _spawn(config: Config, machine: str) -> None:
    if not lock.is_free(machines.lock(config, machine)):
        return
    of_machine = machines.environment(machines.named(config, machine))
    config.logs.mkdir(parents=True, exist_ok=True)
    with (config.logs / "worker.log").open("a") as out:
        child = subprocess.Popen(
            [sys.executable, "-m", "bench.worker"],
            cwd=ROOT,
            env=os.environ | {"SPARK_COMPARE_VAR": str(config.var)} | of_machine,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    threading.Thread(target=child.wait, daemon=True).start()  # so that it never is a zombie


def work(config: Config) -> None:
    """Do queued runs until there were none for the idle time; at once return when another works."""
    while True:
        with lock.held(config.lock) as mine:
            if not mine:
                return
            upkeep.begin(config)
            _until_idle(config)
        if config.machine not in _waiting(config):  # one queued while the lock was being given back
            return


def _until_idle(config: Config) -> None:
    idle_since, tending = time.monotonic(), upkeep.Tending(config)
    while (kept := tending.round()) or time.monotonic() - idle_since < config.idle_seconds:
        with store.opened(config.database) as db:
            run = store.claim(db, config.machine)
        if run is None:
            _help_others(config)
            time.sleep(0.5 if kept else 0.2)
            continue
        log.info("run %s: %s", run.id, run.title)
        perform(config, run)
        upkeep.look(config)
        idle_since = time.monotonic()


def _help_others(config: Config) -> None:
    """Where a service runs this worker, it starts those of the other machines."""
    if config.machine == machines.LOCAL:
        for machine in _waiting(config) - {machines.LOCAL}:
            try:
                _spawn(config, machine)
            except BenchError as error:
                _refuse(config, machine, error)


def _refuse(config: Config, machine: str, error: BenchError) -> None:
    """A machine that is not in the settings any more can do no run."""
    with store.opened(config.database) as db:
        while run := store.claim(db, machine):
            store.fail(db, run.id, error.fault)


def _waiting(config: Config) -> set[str]:
    """The machines for which a run is queued."""
    with store.opened(config.database) as db:
        rows = db.execute("select distinct host from runs where state = 'queued'").fetchall()
    return {host for (host,) in rows}


def _leave(signum: int, frame: FrameType | None) -> None:
    raise SystemExit(0)


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    signal.signal(signal.SIGTERM, _leave)
    work(settings.read())


if __name__ == "__main__":
    main()

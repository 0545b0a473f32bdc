"""The worker: ``python -m bench.worker``. One run at a time, in a process of its own.

The queue is the ``runs`` table. The lock makes the worker single, and makes a row that says it is
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
from bench import lock, store
from bench.config import ROOT, Config
from bench.perform import leftovers, perform
from bench.plan import Plan

log = logging.getLogger("bench.worker")


def submit(config: Config, plan: Plan, token: str | None = None) -> str:
    """Queue a run, see to it that somebody works on it, and return its id."""
    with store.opened(config.database) as db:
        run = store.submit(db, plan, token)
    ensure(config)
    return run


def ensure(config: Config) -> None:
    """Start a worker when there is none and no service runs it. It outlives this process."""
    if not config.start_worker or not lock.is_free(config.lock):
        return
    config.logs.mkdir(parents=True, exist_ok=True)
    with (config.logs / "worker.log").open("a") as out:
        child = subprocess.Popen(
            [sys.executable, "-m", "bench.worker"],
            cwd=ROOT,
            env=os.environ | {"SPARK_COMPARE_VAR": str(config.var)},
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
            leftovers(config)
            _until_idle(config)
        if not _queued(config):  # a run queued while the lock was being given back is still ours
            return


def _until_idle(config: Config) -> None:
    idle_since = time.monotonic()
    while time.monotonic() - idle_since < config.idle_seconds:
        with store.opened(config.database) as db:
            run = store.claim(db)
        if run is None:
            time.sleep(0.2)
            continue
        log.info("run %s: %s", run.id, run.title)
        perform(config, run)
        idle_since = time.monotonic()


def _queued(config: Config) -> bool:
    with store.opened(config.database) as db:
        return bool(db.execute("select 1 from runs where state = 'queued'").fetchone())


def _leave(signum: int, frame: FrameType | None) -> None:
    raise SystemExit(0)


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    signal.signal(signal.SIGTERM, _leave)
    work(settings.read())


if __name__ == "__main__":
    main()

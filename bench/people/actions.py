"""What changes the store, each with the person who does it: allowed, done and noted, or nothing."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from msgspec.structs import replace
from sqlite_utils import Database

from bench import store, worker
from bench.config import Config
from bench.errors import BenchError
from bench.people import access, audit
from bench.people.access import Action, Actor
from bench.plan import Plan
from bench.running import roster
from bench.running.roster import Engine


@contextmanager
def acting(
    settings: Config, actor: Actor, action: Action, run: str | None = None, **detail: Any
) -> Iterator[Database]:
    """One write that the actor may do, with its row in the audit::

        with acting(settings, actor, "edit", run, title=title) as db:
            store.rename(db, run, title)

    Raises BenchError ``access.why.…`` before anything is done.
    """
    access.require(actor, action)
    with store.opened(settings.database) as db, store.writing(db):
        yield db
        audit.note(db, actor, action, run, **detail)


def launch(settings: Config, actor: Actor, plan: Plan, token: str | None = None) -> str:
    """Queue a run, see to it that somebody works on it, and return its id.

    The same ``token`` twice is the same run, done once.
    """
    access.require(actor, "launch")
    with store.opened(settings.database) as db, store.writing(db):
        run = store.submit(db, replace(plan, owner=plan.owner or actor.who), token)
        if not audit.entries(db, run, most=1):
            audit.note(db, actor, "launch", run, title=plan.title)
    worker.ensure(settings, plan.host)
    return run


def again(settings: Config, actor: Actor, run: str) -> str:
    """Queue the same as a run did, with prompts of its own, and return the new run's id.

    Raises BenchError ``run_gone`` for a run that is not there, ``run_elsewhere`` for an imported
    one.
    """
    with store.opened(settings.database) as db:
        found = next(iter(store.load(db, [run])), None)
    if found is None:
        raise BenchError("run_gone")
    if found.source != "measured":
        raise BenchError("run_elsewhere")
    plan = replace(found.plan, seed=secrets.randbelow(2**31), owner=actor.who)
    return launch(settings, actor, plan)


def cancel(settings: Config, actor: Actor, run: str) -> None:
    """Ask for the end of a run."""
    with acting(settings, actor, "cancel", run) as db:
        store.cancel(db, run)


def stop_engine(settings: Config, actor: Actor, engine: Engine) -> None:
    """Ask for the end of an engine that was left or kept; its machine's worker ends it."""
    with acting(settings, actor, "cancel", engine.run, engine=engine.container) as db:
        roster.ask_stop(db, engine.run)
    worker.ensure(settings, engine.machine)

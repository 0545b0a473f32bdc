"""Writing a run: queued, claimed, moved on, measured, ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from sqlite_utils import Database

from bench.errors import Fault
from bench.plan import Plan
from bench.sample import Sample
from bench.store.file import new_id, now, text_of, value, writing
from bench.store.read import run_of
from bench.store.values import LIVE, RUNNING, Answer, Run, State
from bench.summary import LevelSummary


def submit(db: Database, plan: Plan, token: str | None = None) -> str:
    """Queue a run and return its id. The same ``token`` twice is the same run: a second click."""
    with writing(db):
        if token and (before := value(db, "select id from runs where token = ?", token)):
            return str(before)
        run = new_id()
        db.table("runs").insert(
            {
                "id": run,
                "token": token,
                "state": "queued",
                "created": now(),
                "title": plan.title,
                "model": plan.model,
                "model_name": plan.model_name,
                "artifact": plan.artifact,
                "engine": plan.engine,
                "host": plan.host,
                "workload": plan.workload.id,
                "owner": plan.owner,
                "plan": text_of(plan),
            }
        )
        _event(db, run, "state", {"state": "queued"})
    return run


def claim(db: Database, host: str = "local") -> Run | None:
    """Take the oldest queued run of a machine, or None. Safe with any number of workers."""
    with writing(db):
        row = next(
            db.query(
                """update runs set state = 'preparing', started = ? where id = (
                       select id from runs where state = 'queued' and host = ?
                       order by created, rowid limit 1
                   ) returning *""",
                [now(), host],
            ),
            None,
        )
        if row is not None:
            _event(db, row["id"], "state", {"state": "preparing"})
    return None if row is None else run_of(row)


def enter(db: Database, run: str, state: State) -> None:
    """Move a run on, note when, and note the end of one that ends."""
    with writing(db):
        finished = None if state in LIVE else now()
        db.execute("update runs set state = ?, finished = ? where id = ?", (state, finished, run))
        _event(db, run, "state", {"state": state})


def fail(db: Database, run: str, fault: Fault) -> None:
    with writing(db):
        db.execute(
            "update runs set state = 'failed', finished = ?, fault = ? where id = ?",
            (now(), text_of(fault), run),
        )
        _event(db, run, "state", {"state": "failed", "code": fault.code})


def cancel(db: Database, run: str) -> None:
    """Ask for the end of a run: a queued one ends here, the worker ends a running one."""
    with writing(db):
        state = value(db, "select state from runs where id = ?", run)
        if state == "queued":
            db.execute(
                "update runs set state = 'cancelled', finished = ? where id = ?", (now(), run)
            )
            _event(db, run, "state", {"state": "cancelled"})
        elif state in RUNNING:
            db.execute("update runs set cancel = 1 where id = ?", [run])


def cancelling(db: Database, run: str) -> bool:
    return bool(value(db, "select cancel from runs where id = ?", run))


def interrupt(db: Database, host: str = "local") -> list[str]:
    """Mark every run of a machine that says it is running as interrupted. Only for the holder of
    its lock: a run can't be running while nobody held it."""
    with writing(db):
        marks = ", ".join("?" * len(RUNNING))
        rows = db.execute(
            f"update runs set state = 'interrupted', finished = ? where host = ? "
            f"and state in ({marks}) returning id",
            (now(), host, *RUNNING),
        ).fetchall()
        for (run,) in rows:
            _event(db, run, "state", {"state": "interrupted"})
    return [run for (run,) in rows]


def event(db: Database, run: str, kind: str, data: Mapping[str, Any]) -> None:
    with writing(db):
        _event(db, run, kind, data)


def learn(db: Database, run: str, facts: Mapping[str, Any]) -> None:
    """Add facts to a run; a fact learnt again replaces what was known."""
    with writing(db):
        known = msgspec.json.decode(value(db, "select facts from runs where id = ?", run) or "{}")
        db.execute("update runs set facts = ? where id = ?", (text_of(known | dict(facts)), run))


def keep(
    db: Database,
    run: Run,
    levels: Sequence[tuple[LevelSummary, Sequence[Sample]]],
    token: str,
) -> tuple[str, bool]:
    """Keep a run that happened elsewhere, whole or not at all: its id, and whether it is new.

    The same ``token`` twice is the same run; one that was deleted meanwhile is back.
    """
    if run.live:
        raise ValueError("a worker would take it")
    row = msgspec.structs.asdict(run) | {
        "token": token,
        "cancel": 0,
        "plan": text_of(run.plan),
        "facts": text_of(run.facts),
        "fault": None if run.fault is None else text_of(run.fault),
    }
    with writing(db):
        if before := value(db, "select id from runs where token = ?", token):
            db.execute("update labels set deleted = null where run = ?", [before])
            return str(before), False
        db.table("runs").insert(row)
        for summary, samples in levels:
            _level(db, run.id, summary, samples)
    return run.id, True


def save_level(
    db: Database, run: str, summary: LevelSummary, samples: Sequence[Sample] = ()
) -> None:
    """Keep a finished level and each of its requests."""
    with writing(db):
        _level(db, run, summary, samples)


def save_answer(db: Database, run: str, answer: Answer) -> None:
    with writing(db):
        db.table("answers").insert(
            {
                "run": run,
                "prompt": answer.prompt,
                "repeat": answer.repeat,
                "language": answer.language,
                "question": answer.question,
                "sample": text_of(answer.sample),
            },
            replace=True,
        )


def save_telemetry(db: Database, run: str, rows: Sequence[tuple[float, Mapping[str, Any]]]) -> None:
    """Readings of the machine and the engine: (seconds since the run started, values)."""
    with writing(db):
        db.conn.executemany(
            "insert into telemetry (run, at, data) values (?, ?, ?)",
            [(run, at, text_of(data)) for at, data in rows],
        )


def _level(db: Database, run: str, summary: LevelSummary, samples: Sequence[Sample]) -> None:
    position = value(db, "select count(*) from levels where run = ?", run)
    db.table("levels").insert(
        {
            "run": run,
            "position": position,
            "kind": summary.kind,
            "name": summary.name,
            "concurrency": summary.concurrency,
            "repeat": summary.repeat,
            "ok": summary.ok,
            "failed": summary.failed,
            "ttft_p50_s": summary.ttft.p50,
            "ttft_worst_s": summary.ttft.worst,
            "throughput_tokens_per_s": summary.throughput,
            "summary": text_of(summary),
        }
    )
    db.conn.executemany(
        "insert into samples values (?, ?, ?, ?)",
        [(run, position, index, text_of(sample)) for index, sample in enumerate(samples)],
    )


def _event(db: Database, run: str, kind: str, data: Mapping[str, Any]) -> None:
    db.execute(
        "insert into events (run, at, kind, data) values (?, ?, ?, ?)",
        (run, now(), kind, text_of(data)),
    )

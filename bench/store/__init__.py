"""The store: one SQLite file, opened for each use.

``with store.opened(path) as db:`` migrates, sets WAL and a busy timeout. Writes are short
``BEGIN IMMEDIATE`` transactions. What people filter by is a column; the rest is JSON of the values
in `plan.py`, `summary.py`, `sample.py`. Times are UTC ISO strings, durations seconds.
"""

from bench.store.file import ALPHABET, backup, new_id, now, opened, writing
from bench.store.read import (
    HIDDEN,
    answers,
    by_token,
    events,
    everything,
    facts_of,
    levels,
    live,
    load,
    loads,
    runs,
    samples,
    telemetry,
)
from bench.store.values import LIVE, RUNNING, Answer, Event, Run, State
from bench.store.write import (
    cancel,
    cancelling,
    claim,
    enter,
    event,
    fail,
    interrupt,
    keep,
    learn,
    save_answer,
    save_level,
    save_telemetry,
    submit,
)

__all__ = [
    "ALPHABET",
    "HIDDEN",
    "LIVE",
    "RUNNING",
    "Answer",
    "Event",
    "Run",
    "State",
    "answers",
    "backup",
    "by_token",
    "cancel",
    "cancelling",
    "claim",
    "enter",
    "event",
    "events",
    "everything",
    "facts_of",
    "fail",
    "interrupt",
    "keep",
    "learn",
    "levels",
    "live",
    "load",
    "loads",
    "new_id",
    "now",
    "opened",
    "runs",
    "samples",
    "save_answer",
    "save_level",
    "save_telemetry",
    "submit",
    "telemetry",
    "writing",
]

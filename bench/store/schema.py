"""The tables of the store. Migrations are only ever added: an older file is brought up to date
when it is opened, and a file with a migration unknown here is refused, not damaged."""

from __future__ import annotations

from sqlite_utils import Database, Migrations

migrations = Migrations("spark-compare")

FIRST = """
create table runs (
    id text primary key, token text unique, state text not null,
    source text not null default 'measured',
    created text not null, started text, finished text,
    title text not null, model text not null, model_name text not null, artifact text,
    engine text not null, host text not null, workload text not null,
    owner text not null default '', cancel integer not null default 0,
    plan text not null, facts text not null default '{}', fault text
) strict;
create index runs_by_state on runs (state, created);
create index runs_by_age on runs (created);
create table levels (
    run text not null references runs (id) on delete cascade, position integer not null,
    kind text not null, name text not null, concurrency integer not null,
    repeat integer not null, ok integer not null, failed integer not null,
    ttft_p50_s real, ttft_worst_s real, throughput_tokens_per_s real,
    summary text not null, primary key (run, position)
) strict, without rowid;
create table samples (
    run text not null, level integer not null, position integer not null, sample text not null,
    primary key (run, level, position),
    foreign key (run, level) references levels (run, position) on delete cascade
) strict, without rowid;
create table answers (
    run text not null references runs (id) on delete cascade, prompt text not null,
    repeat integer not null, language text not null, question text not null,
    sample text not null, primary key (run, prompt, repeat)
) strict;
create table events (
    id integer primary key, run text not null references runs (id) on delete cascade,
    at text not null, kind text not null, data text not null
) strict;
create index events_by_run on events (run, id);
create table telemetry (
    id integer primary key, run text not null references runs (id) on delete cascade,
    at real not null, data text not null
) strict;
create index telemetry_by_run on telemetry (run, at);
create view v_runs as
    select id, state, source, created as created_utc, finished as finished_utc, title,
           model, artifact, engine, host, workload from runs;
create view v_levels as
    select run, name, kind, concurrency, repeat, ok as requests_ok,
           failed as requests_failed, ttft_p50_s, ttft_worst_s, throughput_tokens_per_s from levels
"""


@migrations()
def m001_runs(db: Database) -> None:
    for statement in FIRST.split(";"):
        db.execute(statement)


ACCESS = """
create table audit (
    id integer primary key, at text not null, who text not null, action text not null,
    run text, detail text not null default '{}'
) strict;
create index audit_by_run on audit (run, id);
create table passcode_tries (at real not null, address text not null) strict;
create table signed_out (sign_in text primary key, at real not null) strict
"""


@migrations()
def m002_access(db: Database) -> None:
    for statement in ACCESS.split(";"):
        db.execute(statement)


ENGINES = """
create table engines (
    run text primary key, machine text not null, container text not null, title text not null,
    started text not null, launch text not null, used_by text,
    stop integer not null default 0
) strict;
create table machines (machine text primary key, at text not null, seen text not null) strict
"""


@migrations()
def m003_engines(db: Database) -> None:
    for statement in ENGINES.split(";"):
        db.execute(statement)


LABELS = """
create table labels (
    run text primary key references runs (id) on delete cascade,
    star integer not null default 0, note text not null default '',
    tags text not null default '[]', archived integer not null default 0, deleted text
) strict;
create index runs_by_series on runs (model, engine, host, workload, created)
"""


@migrations()
def m004_labels(db: Database) -> None:
    for statement in LABELS.split(";"):
        db.execute(statement)


COMPARISONS = """
create table comparisons (
    id text primary key, title text not null, notes text not null, results text not null,
    view text not null, author text not null, created text not null, changed text not null
) strict
"""


@migrations()
def m005_comparisons(db: Database) -> None:
    db.execute(COMPARISONS)


VOTES = """
create table ballots (
    id text primary key, at text not null, prompt_set text not null, entrants text not null,
    closed integer not null default 0
) strict;
create table votes (
    id integer primary key, ballot text not null references ballots (id) on delete cascade,
    at text not null, voter text not null, prompt text not null, left text not null,
    right text not null, choice text not null, seconds real not null,
    characters integer not null, reason text not null default ''
) strict;
create index votes_by_ballot on votes (ballot, id);
create table opinions (
    ballot text not null references ballots (id) on delete cascade, judge text not null,
    rubric text not null, at text not null, prompt text not null, first text not null,
    second text not null, opinion text not null,
    primary key (ballot, judge, rubric, prompt, first, second)
) strict;
create table prompt_sets (
    id text primary key, at text not null, name text not null, who text not null default '',
    prompts text not null
) strict
"""


@migrations()
def m006_votes(db: Database) -> None:
    for statement in VOTES.split(";"):
        db.execute(statement)

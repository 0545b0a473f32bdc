"""A store as full as one gets in years, and a file as large as GuideLLM makes: for the benchmark.

The runs are made up and say so in their titles. One run of each model is computed, the others are
its copies under ids and times of their own.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
from sqlite_utils import Database

from bench import store
from bench.catalogue import Catalogue
from bench.numbers import metrics
from bench.plan import Plan
from bench.sample import LevelRun, MeterHealth, Sample
from bench.store import Answer
from bench.summary import LevelSummary
from engines import Recipe

ENGINES = ("vllm", "llama.cpp", "sglang", "ollama")
BEGIN = datetime(2025, 1, 1, tzinfo=UTC)
TEXT = "快取就像把常用的東西放在手邊，需要時不必再走到倉庫。"
Level = tuple[LevelSummary, Sequence[Sample]]


def fill(path: Path, known: Catalogue, runs: int, samples: int) -> tuple[str, ...]:
    """Fill an empty store; the ids of its runs, newest first, eight models in turn."""
    chance = random.Random(1)
    work = known.workloads["standard-1"]
    models = [f"model-{number}" for number in range(8)]
    each = max(8, samples // (runs * len(work.levels)))
    with store.opened(path) as db:
        ids = []
        for number in range(runs):
            model = models[number % len(models)]
            plan = Plan(
                title=f"Made up {model} · {number}",
                model=model,
                model_name=model,
                artifact="made-up",
                engine=ENGINES[number // 8 % len(ENGINES)],
                recipe=Recipe(engine="vllm", model=model, path=f"/models/{model}", slots=64),
                workload=work,
                prompts=(),
                seed=number,
            )
            if number < len(models):
                levels = [_level(each, people, 20 + 5 * number, chance) for people in work.levels]
                first = _first(db, plan, levels)
                ids.append(first)
            else:
                ids.append(_copy(db, ids[number % len(models)], plan, number))
        db.execute("analyze")
    return tuple(reversed(ids))


def _level(requests: int, people: int, speed: float, chance: random.Random) -> Level:
    gap = (1 + 0.2 * people) / speed
    sent, samples = [0.0] * people, []
    for number in range(requests):
        user = number % people
        first = 0.2 * people * chance.uniform(0.9, 1.1)
        gaps = tuple(round(gap * chance.uniform(0.9, 1.1), 6) for _ in range(31))
        last = first + sum(gaps)
        samples.append(
            Sample(
                id=f"{people}-{number}",
                sent=sent[user],
                first_event=first,
                first_token=first,
                first_answer=first,
                last_token=last,
                end=last,
                gaps=gaps,
                chunks=32,
                first_chunk_tokens=1,
                prompt_tokens=2048,
                output_tokens=32,
                count_source="usage",
                finish="length",
                status=200,
            )
        )
        sent[user] += last
    meter = MeterHealth(loop_lag_p99=0.001, loop_lag_max=0.002, cpu_share=0.1, busy=False)
    run = LevelRun(
        concurrency=people,
        samples=tuple(samples),
        duration=max(sent),
        peak_concurrency=people,
        meter=meter,
    )
    summary = metrics.summarise(run, kind="sweep", name=f"c{people}", slots=64)
    return summary, samples


def _first(db: Database, plan: Plan, levels: Sequence[Level]) -> str:
    run = store.submit(db, plan)
    store.learn(db, run, {"engine_version": "1.0", "load_seconds": 60.0})
    for summary, samples in levels:
        store.save_level(db, run, summary, samples)
    for number in range(12):
        sample = Sample(
            id=f"a{number}",
            sent=0.0,
            first_event=0.2,
            first_token=0.2,
            first_answer=0.2,
            last_token=3.0,
            end=3.0,
            chunks=40,
            output_tokens=40,
            text=TEXT,
            finish="stop",
            status=200,
        )
        asked = Answer(
            prompt=f"made-up-{number}",
            repeat=1,
            language="zh-TW",
            question="什麼是快取？",
            sample=sample,
        )
        store.save_answer(db, run, asked)
    store.enter(db, run, "done")
    _date(db, run, 0)
    return run


def _copy(db: Database, of: str, plan: Plan, number: int) -> str:
    run = store.submit(db, plan)
    with store.writing(db):
        for table in ("levels", "samples", "answers"):
            names = [column.name for column in db.table(table).columns if column.name != "run"]
            listed = ", ".join(names)
            copied = f"select ?, {listed} from {table} where run = ?"
            db.execute(f"insert into {table} (run, {listed}) {copied}", (run, of))
        db.execute(
            "update runs set state = 'done', facts = (select facts from runs where id = ?) "
            "where id = ?",
            (of, run),
        )
    _date(db, run, number)
    return run


def _date(db: Database, run: str, number: int) -> None:
    at = BEGIN + timedelta(hours=6 * number)
    ended = at + timedelta(minutes=20)
    db.execute(
        "update runs set created = ?, started = ?, finished = ? where id = ?",
        (at.isoformat(), at.isoformat(), ended.isoformat(), run),
    )


def guidellm(path: Path, size: int) -> None:
    """A file in the form of GuideLLM's version 2 with every request's texts, of about ``size``
    bytes."""
    with path.open("w", encoding="utf-8") as file:
        file.write('{"metadata": {"version": 2, "guidellm_version": "0.8.1"}, "benchmarks": [{')
        file.write(f'"start_time": 1764547200.0, "metrics": {_json(_metrics())}, ')
        file.write('"scheduler_metrics": {"requests_made": {"successful": 64, "errored": 0}}, ')
        file.write('"config": {"strategy": {"type_": "concurrent", "streams": 8}}, "requests": {')
        file.write('"successful": [')
        file.writelines(_requests(size))
        file.write("]}}]}")


def _requests(size: int) -> Iterator[str]:
    one = _json({"request_id": "made-up", "output": "word " * 4000, "input": "word " * 4000})
    yield one
    for _ in range(max(0, size // len(one))):
        yield ", " + one


def _metrics() -> dict[str, Any]:
    def summary(mean: float) -> dict[str, Any]:
        tails = dict.fromkeys(("p50", "p90", "p95", "p99"), mean)
        spread = {"mean": mean, "std_dev": mean / 10, "min": mean / 2, "max": 2 * mean}
        return {"successful": spread | {"percentiles": tails}}

    return {
        "time_to_first_token_ms": summary(400.0),
        "inter_token_latency_ms": summary(20.0),
        "request_latency": summary(3.0),
        "output_tokens_per_second": summary(300.0),
        "request_concurrency": summary(8.0),
    }


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()

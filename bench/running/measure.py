"""What a run measures once its engine is ready: the prompt set, the answers, the sweep.

Everything that a level needs is made before it begins; everything that it gave is stored after it
has ended. In between nothing is written.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from bench import prompts, store
from bench.catalogue import Prompt
from bench.config import Config
from bench.errors import BenchError
from bench.meter import load
from bench.meter.client import Ask
from bench.meter.target import Target, chat_body
from bench.numbers import method, metrics, request, sweetspot
from bench.plan import Plan
from bench.running.halt import Halt
from bench.running.progress import Progress
from bench.running.pulse import Flight, Pulse
from bench.running.steps import Step, level_step, steps
from bench.sample import LevelRun, Sample
from bench.store import Answer

SEARCH_MOST = 256
"""The highest level that a search for the edge tries."""


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """One run's measuring: what it talks to and where its results go."""

    config: Config
    run: str
    plan: Plan
    target: Target
    count: prompts.Count | None
    """The engine's own tokenizer; None where it offers none."""
    slots: int | None
    halt: Halt
    progress: Callable[[Progress], None]
    counters: Callable[[], Mapping[str, float]] = dict
    """The engine's own counters now."""
    power: Callable[[float], float | None] = lambda since: None
    """The GPU's mean power in watts since a moment of ``time.monotonic``."""
    pulse: Pulse = msgspec.field(default_factory=Pulse)
    """Told what is in flight, so that a stall is seen."""
    between: Callable[[], None] = lambda: None
    """Called when a level is stored: the moment to write what was kept back."""


def measure(session: Session) -> None:
    """Measure all of the plan.

    Raises what the halt was set to, or BenchError ``no_answers`` when a level brings no answer at
    all. Finished levels stay stored.
    """
    work, asked = session.plan.workload, session.plan.prompts
    planned = steps(work, session.plan.seed)
    alone = [step for step in planned if step.kind != "sweep"]
    turns = [(prompt, turn + 1) for turn in range(work.answer_repeats) for prompt in asked]
    total = len(planned) + len(turns)
    overhead = 0
    for position, step in enumerate(alone, 1):
        overhead = _level(session, step, overhead, position=position, of=total)
    for position, (prompt, repeat) in enumerate(turns, len(alone) + 1):
        _answer(session, prompt, repeat, position=position, of=total)
    for position, step in enumerate(planned[len(alone) :], len(alone) + len(turns) + 1):
        _level(session, step, overhead, position=position, of=total)
    while work.search and (tried := _next(session)):
        total += 1
        _level(session, tried, overhead, position=total, of=total)


def decode_speed(session: Session) -> float | None:
    """Tokens a second of the plan's decode test, measured once more: the canary after the run."""
    step = next(step for step in steps(session.plan.workload) if step.kind == "decode")
    built = _prompts(session, step, "canary", 1, 0)
    run = _run(session, _asks(session, step, built), 1)
    return request.decode_speed(run.samples[0]) if run.samples[0].ok else None


def _next(session: Session) -> Step | None:
    """The level to try next in search of the edge between those that hold and those that fail."""
    with store.opened(session.config.database) as db:
        tried = sweetspot.trials(store.levels(db, session.run))
    held = {trial.concurrency: not sweetspot.failures(trial, sweetspot.USUAL) for trial in tried}
    most = min(session.slots or SEARCH_MOST, SEARCH_MOST)
    level = method.next_level(held, most)
    return None if level is None else level_step(session.plan.workload, level)


def _level(session: Session, step: Step, overhead: int, *, position: int, of: int) -> int:
    """Warm up, measure and store one level; returns the chat template's length in tokens."""
    session.halt.check()
    place = {
        "kind": step.kind, "name": step.name, "concurrency": step.concurrency,
        "repeat": step.repeat, "planned": step.requests, "position": position, "of": of,
    }  # fmt: skip
    _note(session, "level", place)
    overhead = _warm(session, step, overhead)
    built = _prompts(session, step, "measured", step.requests, overhead)
    before, begun = session.counters(), time.monotonic()
    run = _run(session, _asks(session, step, built), step.concurrency, counted=True)
    if _over(session, run):  # a dead engine refuses what is left of a level within no time
        run = msgspec.structs.replace(run, stopped=True)
    summary = metrics.summarise(
        run,
        kind=step.kind,
        name=step.name,
        repeat=step.repeat,
        prompt_tokens_planned=step.prompt_tokens,
        output_tokens_planned=step.output_tokens,
        slots=session.slots,
        template_tokens=overhead,
        cached_by_counters=None if run.stopped else cached_share(before, session.counters()),
        power=session.power(begun),
    )
    done = place | {"ok": summary.ok, "failed": summary.failed}
    with store.opened(session.config.database) as db:
        store.save_level(db, session.run, summary, run.samples)
        store.event(db, session.run, "level_done", done)
    session.between()
    session.halt.check()
    if not summary.ok:
        raise BenchError("no_answers", level=step.name, reason=_reason(run.samples))
    return overhead


def cached_share(before: Mapping[str, float], after: Mapping[str, float]) -> float | None:
    """Share of prompt tokens that vLLM's counters say came from its cache; None without them."""
    queries, hits = (
        after[name] - before[name] if name in before and name in after else None
        for name in ("vllm:prefix_cache_queries_total", "vllm:prefix_cache_hits_total")
    )
    return hits / queries if queries and hits is not None else None


def _warm(session: Session, step: Step, overhead: int) -> int:
    """Requests that are thrown away, at the level's own concurrency and with their own prompts.

    A sweep level is warmed until its TTFT is steady, for at most ``warmups`` rounds more than one.
    """
    ttfts: list[float] = []
    for turn in range(step.warmups + (step.kind == "sweep")):
        built = _prompts(session, step, f"warm{turn}", step.concurrency, overhead)
        run = _run(session, _asks(session, step, built), step.concurrency)
        _over(session, run)
        session.halt.check()
        good = [sample for sample in run.samples if sample.ok]
        if not good:
            raise BenchError("no_answers", level=step.name, reason=_reason(run.samples))
        if not overhead:
            overhead = prompts.template_tokens(built[0], good[0].prompt_tokens)
        ttfts += [sample.first_token for sample in good if sample.first_token is not None]
        if step.kind == "sweep" and method.steady(ttfts, step.concurrency):
            break
    return overhead


def _over(session: Session, run: LevelRun) -> bool:
    """Whether the run has to end. When the last request failed, its engine may be ending."""
    if run.samples and run.samples[-1].ok:
        return session.halt.look()
    return session.halt.settle()


def _prompts(
    session: Session, step: Step, use: str, n: int, overhead: int
) -> tuple[prompts.SizedPrompt, ...]:
    return prompts.build(
        session.count,
        seed=session.plan.seed,
        stream=f"{step.name}/{step.repeat}/{use}",
        tokens=step.prompt_tokens,
        n=n,
        overhead=overhead,
    )


def _asks(session: Session, step: Step, built: Sequence[prompts.SizedPrompt]) -> list[Ask]:
    tokens = step.output_tokens
    return [
        Ask(
            id=f"{session.run}-{step.name}-{step.repeat}-{number}",
            body=chat_body(session.target, prompt.text, tokens, exact=True),
            output_tokens=tokens,
            prompt_tokens=step.prompt_tokens,
        )
        for number, prompt in enumerate(built)
    ]


def _run(
    session: Session, asks: Sequence[Ask], concurrency: int, *, counted: bool = False
) -> LevelRun:
    workload = session.plan.workload

    def progress(done: int, failed: int) -> None:
        session.progress(Progress(done, failed, len(asks)))

    def begun(flight: Flight) -> None:
        session.pulse.flight = flight

    run = asyncio.run(
        load.run_level(
            session.target,
            asks,
            concurrency=concurrency,
            arrival=workload.arrival if concurrency > 1 else "closed",
            rate=workload.rate,
            seed=session.plan.seed,
            stop=session.halt.event,
            progress=progress if counted else lambda done, failed: None,
            begun=begun,
        )
    )
    session.pulse.rest()
    return run


def _answer(session: Session, prompt: Prompt, repeat: int, *, position: int, of: int) -> None:
    """Ask one of the fixed prompts and keep the answer, whatever it is."""
    session.halt.check()
    _note(session, "answer", {"prompt": prompt.id, "position": position, "of": of})
    work = session.plan.workload
    limit, drawn = work.answer_tokens, work.answer_temperature != 0
    ask = Ask(
        id=f"{session.run}-{prompt.id}-{repeat}",
        body=chat_body(
            session.target,
            prompt.text,
            limit,
            temperature=None if work.answer_temperature == "model" else work.answer_temperature,
            seed=session.plan.seed + repeat if drawn else None,
        ),
        output_tokens=limit,
    )
    run = _run(session, [ask], 1)
    session.halt.check()
    answer = Answer(
        prompt=prompt.id,
        repeat=repeat,
        language=prompt.language,
        question=prompt.text,
        sample=run.samples[0],
    )
    with store.opened(session.config.database) as db:
        store.save_answer(db, session.run, answer)


def _reason(samples: Sequence[Sample]) -> str:
    """What most of the failures say."""
    said = Counter(sample.error for sample in samples if sample.error)
    return said.most_common(1)[0][0] if said else ""


def _note(session: Session, kind: str, data: Mapping[str, Any]) -> None:
    with store.opened(session.config.database) as db:
        store.event(db, session.run, kind, data)

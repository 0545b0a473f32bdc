"""What a reader can choose from on the Start page, and what a choice will do."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from bench import planning
from bench.available import Choice
from bench.catalogue import Catalogue, Workload
from bench.config import Config
from bench.errors import Fault
from bench.machine.machines import Machine
from bench.plan import Plan
from bench.recipes.community import Community
from bench.recipes.planning import plan_for_community
from bench.running.steps import steps
from bench.shown.views import duration, took
from bench.store import Run
from bench.text import Words
from engines import docker_run
from engines.launches import launch_for

ENDPOINT = "endpoint"
"""Offered among the models: a server that already runs."""
SHARED = "shared"
"""Offered among the models: a recipe of the community."""


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """One option of a choice."""

    id: str
    name: str
    note: str
    problem: Fault | None = None
    """Why it can't be started on this machine now."""


def models(known: Catalogue, choices: Sequence[Choice], t: Words) -> list[Offer]:
    """The models that can be started first, then the others, a recipe of the community, and a
    server that already runs."""
    offers = [
        _offer(
            id,
            model.name,
            model.notes,
            [choice.problem for choice in choices if choice.model == id],
            t,
        )
        for id, model in known.models.items()
        if any(choice.model == id for choice in choices)
    ]
    server = Offer(
        id=ENDPOINT, name=t("launch.running_server"), note=t("launch.running_server_note")
    )
    shared = Offer(id=SHARED, name=t("launch.shared"), note=t("launch.shared_note"))
    return [*sorted(offers, key=lambda offer: offer.problem is not None), shared, server]


def engines(known: Catalogue, choices: Sequence[Choice], model: str, t: Words) -> list[Offer]:
    """The engines that have a recipe for a model, those that can be started first."""
    own = [choice for choice in choices if choice.model == model]
    offers = [
        _offer(
            id,
            known.engines[id].name,
            known.engines[id].notes,
            [choice.problem for choice in own if choice.engine == id],
            t,
        )
        for id in dict.fromkeys(choice.engine for choice in own)
    ]
    return sorted(offers, key=lambda offer: offer.problem is not None)


def artifacts(
    known: Catalogue, choices: Sequence[Choice], model: str, engine: str
) -> Mapping[str, str]:
    """The forms of a model that an engine can read, as id → name, startable ones first."""
    own = [choice for choice in choices if (choice.model, choice.engine) == (model, engine)]
    forms = {
        form.id: f"{form.quantization} · {form.path}" for form in known.models[model].artifacts
    }
    ordered = sorted(own, key=lambda choice: choice.problem is not None)
    return {choice.artifact: forms[choice.artifact] for choice in ordered}


def workloads(known: Catalogue, model: str, t: Words) -> list[Offer]:
    """The workloads, the one that suits the model first: the demo for a demo model."""
    demo = model in known.models and known.models[model].demo
    fitting = [id for id in known.workloads if id.startswith("demo") == demo]
    others = [id for id in known.workloads if id not in fitting]
    return [
        Offer(id=id, name=known.workloads[id].name.get(t.language, id), note=_size(known, id, t))
        for id in (*fitting, *others)
    ]


def _size(known: Catalogue, workload: str, t: Words) -> str:
    work = known.workloads[workload]
    return _asks(work, t, alone="launch.size_alone", together="launch.size")


def _asks(work: Workload, t: Words, *, alone: str, together: str) -> str:
    if not work.levels:
        return t(alone, requests=questions(work))
    return t(together, requests=questions(work), people=max(work.levels))


def questions(work: Workload) -> int:
    """How many requests count in a workload, kept answers included."""
    return sum(step.requests for step in steps(work)) + len(work.answers) * work.answer_repeats


def _offer(
    id: str, name: str, notes: Mapping[str, str], problems: Iterable[Fault | None], t: Words
) -> Offer:
    found = list(problems)
    problem = None if None in found else found[0]
    note = notes.get(t.language, "")
    if problem:
        note = (
            t("launch.not_here") if not note else f"{t('launch.not_here')}{t('launch.dot')}{note}"
        )
    return Offer(id=id, name=name, note=note, problem=problem)


def happens(plan: Plan, t: Words) -> list[str]:
    """What the run will do, step by step."""
    work, serving = plan.workload, plan.engine == ENDPOINT
    start, keep = ("step_connect", "step_keep_endpoint") if serving else ("step_start", "step_keep")
    engine = plan.title.rpartition(" · ")[2]
    return [
        t(f"launch.{start}", model=plan.model_name, engine=engine),
        _asks(work, t, alone="launch.step_ask_alone", together="launch.step_ask"),
        t(f"launch.{keep}", answers=len(plan.prompts) * work.answer_repeats),
    ]


def command(plan: Plan) -> str:
    """The launch as a person would type it."""
    launch = launch_for(plan.recipe)
    return docker_run.command(launch) if launch.image else shlex.join(launch.argv)


def how_long(plan: Plan, runs: Sequence[Run], t: Words) -> str:
    """How long such runs took on this machine; ``runs`` newest first."""
    alike = [run for run in runs if run.state == "done" and run.workload == plan.workload.id]
    same = [run for run in alike if (run.model, run.engine) == (plan.model, plan.engine)]
    times = [seconds for run in same[:1] or alike if (seconds := took(run))]
    if not times:
        return t("launch.time_unknown")
    if same:
        return t("launch.time_same", time=duration(times[0], t))
    return t("launch.time_like", low=duration(min(times), t), high=duration(max(times), t))


def plan(
    known: Catalogue,
    config: Config,
    machine: Machine,
    workload: str,
    asked: Mapping[str, Any] | Community,
) -> Plan:
    """The plan of what was asked for. Raises BenchError for what can't be started."""
    if isinstance(asked, Community):
        return plan_for_community(known, config, asked, workload=workload, machine=machine)
    if asked["engine"] == ENDPOINT:
        return planning.plan_for(known, config, workload=workload, **asked)
    return planning.plan_for(known, config, workload=workload, machine=machine, **asked)


def shared(asked: Mapping[str, Any] | Community) -> Community | None:
    return asked if isinstance(asked, Community) else None

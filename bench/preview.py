"""``python -m bench plan``: what a launch would do, before it does anything.

Memory fit, what to know, and the exact command. A model that is not downloaded yet is judged by
what its publisher says of it: its size in data/models.toml, its layers in data/shapes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from bench import catalogue, config
from bench.catalogue import Catalogue
from bench.config import Config
from bench.errors import BenchError, Fault
from bench.machine import host, smi
from bench.machine.host import GIB, Host
from bench.memory import elsewhere, fit
from bench.memory.fit import Fit
from bench.memory.weights import Weights
from bench.plan import Plan
from bench.planning import Overrides, plan_for, queueing_levels, recipe_entry
from bench.running import preparing
from bench.shown import offers
from bench.text import Words, words
from engines import Launch, docker, images
from engines.launches import launch_for


class Preview(msgspec.Struct, frozen=True, kw_only=True):
    plan: Plan
    launch: Launch
    command: str
    """For a shell, in one line."""
    fit: Fit | None
    """None where nothing is loaded on this machine, or its size is unknown."""
    notes: tuple[Fault, ...]


def look(
    known: Catalogue,
    settings: Config,
    machine: Host,
    *,
    model: str,
    engine: str,
    artifact: str | None = None,
    workload: str = "standard-1",
    overrides: Overrides | None = None,
) -> Preview:
    """What this choice would do on ``machine``. Raises BenchError for what cannot be planned."""
    entry = recipe_entry(known, engine, model, artifact)
    chosen = catalogue.artifact(known.models[model], entry.artifact)
    absent: BenchError | None = None
    try:
        plan = plan_for(known, settings, engine=engine, model=model, artifact=entry.artifact,
                        workload=workload, overrides=overrides)  # fmt: skip
    except BenchError as error:
        if error.fault.code != "model_missing":
            raise
        absent = error
        plan = plan_for(known, settings, engine=engine, model=model, artifact=entry.artifact,
                        workload=workload, overrides=overrides,
                        found=elsewhere.expected(chosen, settings.model_roots[0]))  # fmt: skip
    launch = launch_for(plan.recipe)
    judged = _judged(
        settings, plan, machine, elsewhere.published(known, model, chosen.id) if absent else None
    )
    return Preview(
        plan=plan,
        launch=launch,
        command=offers.command(plan),
        fit=judged,
        notes=_notes(plan, judged, absent),
    )


def image_note(settings: Config, launch: Launch) -> Fault | None:
    """Whether the image is here; asks Docker. None: it is, or no image is needed."""
    if launch.image is None:
        return None
    try:
        client = docker.client(settings.docker_host)
        if images.have(client, settings.docker_host, launch.image):
            return None
        return Fault(code="preview.image_missing", fields={"image": launch.image})
    except BenchError as error:
        return error.fault


def text(seen: Preview, tell: Words) -> str:
    """The whole as lines for a terminal."""
    lines = [seen.plan.title, ""]
    if seen.fit:
        lines.append(tell(f"fit.verdict.{seen.fit.verdict}"))
        for item in seen.fit.items:
            size = "?" if item.bytes is None else fit.gib(item.bytes)
            name, how = tell(f"fit.items.{item.what}"), tell(f"fit.how.{item.how}")
            lines.append(f"{size:>8} GiB  {name} ({how})")
        for found in seen.fit.findings:
            lines.append(f"- {tell.fault(found.seen)}")
            lines += [f"  {tell.fault(found.remedy)}"] if found.remedy else []
        if seen.fit.full_requests is not None:
            lines.append(tell("fit.full_requests", count=round(seen.fit.full_requests)))
    lines += [f"- {tell.fault(note)}" for note in seen.notes]
    return "\n".join([*lines, "", tell("preview.command"), seen.command])


def main(argv: Sequence[str]) -> int:
    """0: it fits, perhaps tightly; 1: it does not; 2: it cannot be planned."""
    options = _parser().parse_args(argv)
    settings, tell = config.read(), words(options.language)
    try:
        stand_in = options.host_facts
        machine = (host.facts(stand_in) if stand_in
                   else host.read(settings.proc, nvidia_smi=smi.ask))  # fmt: skip
        seen = look(
            catalogue.load(),
            settings,
            machine,
            model=options.model,
            engine=options.engine,
            artifact=options.artifact,
            workload=options.workload,
            overrides=Overrides(
                context=options.context, slots=options.slots, memory=options.memory
            ),
        )
        note = None if stand_in else image_note(settings, seen.launch)
    except BenchError as error:
        print(tell.fault(error.fault), file=sys.stderr)
        return 2
    if note:
        seen = msgspec.structs.replace(seen, notes=(*seen.notes, note))
    print(text(seen, tell))
    return 1 if seen.fit and seen.fit.verdict == "wont_fit" else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench plan",
        description="Print what a launch would do: memory fit, what to know, the exact command.",
    )
    parser.add_argument("--model", required=True, help="the model's id in data/models.toml")
    parser.add_argument("--engine", required=True, help="the engine's id in data/engines.toml")
    parser.add_argument("--artifact", help="the model's form; the engine's first without it")
    parser.add_argument("--workload", default="standard-1", help="what will be sent")
    parser.add_argument("--context", type=int, help="tokens of context for each request")
    parser.add_argument("--slots", type=int, help="requests worked on at once")
    parser.add_argument("--memory", type=float, help="share of the memory, 0.1 to 0.95")
    parser.add_argument(
        "--host-facts", type=Path, metavar="FOLDER", help="stand-in files in place of this machine"
    )
    parser.add_argument("--language", choices=("en", "zh-TW"), default="en")
    return parser


def _judged(settings: Config, plan: Plan, machine: Host, published: Weights | None) -> Fit | None:
    if published is None and not Path(plan.recipe.path).exists():
        return None
    if published is None:
        return preparing.check_fit(settings, plan, machine)
    floor = round(settings.floor_gib * GIB)
    return fit.check(machine, published, plan.recipe, preparing.load_of(plan), floor)


def _notes(plan: Plan, judged: Fit | None, absent: BenchError | None) -> tuple[Fault, ...]:
    notes = [absent.fault] if absent else []
    if judged is None:
        notes.append(Fault(code="preview.size_unknown"))
    if above := queueing_levels(plan.recipe, plan.workload):
        levels = ", ".join(map(str, above))
        notes.append(
            Fault(code="community.queueing", fields={"slots": plan.recipe.slots, "levels": levels})
        )
    return tuple(notes)

"""An import becomes runs in the store, and its file is kept as it came.

One result of a file is one run. Its plan says of the workload what the file tells, the levels hold
the numbers that are not in doubt, and the mark (`mark.py`) carries the rest.
"""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import msgspec
from sqlite_utils import Database

from bench import store
from bench.catalogue import Catalogue, Workload
from bench.config import Config
from bench.errors import Fault
from bench.imports import mark
from bench.imports.checks import judged
from bench.imports.level import level
from bench.imports.source import opened_raw
from bench.imports.values import NAMES, Found, Import
from bench.people import access, audit
from bench.people.access import Actor
from bench.plan import Plan
from bench.store import Run, State
from engines import Recipe

SPARK = "NVIDIA GB10"


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """What a reader knows of a result and its file does not say."""

    title: str = ""
    """Empty: the model and the tool."""
    model: str = ""
    """Catalogue id; empty: as the file calls it."""
    engine: str = ""
    """Catalogue id."""
    spark: bool = False
    """Measured on a DGX Spark: its speeds are then held against what its memory allows."""


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    run: str
    new: bool
    """False: it was imported before, as this run."""


def guess(found: Found, known: Catalogue) -> str:
    """The catalogue's model that a file means by its own name of it; empty for none."""
    said = found.model.strip().casefold()
    for model in known.models.values():
        published = [one.repository for one in model.artifacts if one.repository]
        names = [model.id, model.name, *published, *(name.split("/")[-1] for name in published)]
        if said in (name.casefold() for name in names):
            return model.id
    return ""


def title(found: Found, choice: Choice, known: Catalogue, tool: str) -> str:
    """What a run is called, unless its reader chose otherwise."""
    model = known.models.get(choice.model)
    name = model.name if model else found.model or "?"
    return " ".join(choice.title.split())[:120] or f"{name} · {NAMES[tool]}"


def chosen(found: Found, choice: Choice, known: Catalogue) -> Found:
    """A result with what its reader knows, judged anew."""
    model = known.models.get(choice.model)
    sizes = [one.size_bytes for one in model.artifacts if one.size_bytes] if model else []
    active = (
        model.active_parameters / model.parameters
        if model and model.parameters and model.active_parameters
        else None
    )
    return judged(
        msgspec.structs.replace(
            found,
            engine=choice.engine or found.engine,
            machine=found.machine or (SPARK if choice.spark else None),
            size_bytes=found.size_bytes or min(sizes, default=None),
            active_share=found.active_share or active,
        )
    )


def save(
    settings: Config,
    actor: Actor,
    file: Import,
    content: Path | BinaryIO,
    known: Catalogue,
    choices: Sequence[Choice] = (),
) -> tuple[Kept, ...]:
    """Keep the file, and each of its results as a run; what was imported before stays as it is.

    Raises BenchError ``access.why.…`` for who may not import.
    """
    access.require(actor, "import")
    _keep_file(settings, file, content)
    with store.opened(settings.database) as db, store.writing(db):
        return tuple(_save(db, actor, file, place, known, choices) for place in _places(file))


def _save(
    db: Database,
    actor: Actor,
    file: Import,
    place: int,
    known: Catalogue,
    choices: Sequence[Choice],
) -> Kept:
    choice = choices[place] if place < len(choices) else Choice()
    result = chosen(file.results[place], choice, known)
    run = _run(file, result, choice, known, actor.who)
    parts = [(level(part), part.samples) for part in result.parts]
    name, new = store.keep(db, run, parts, _token(file, place))
    if new:
        audit.note(db, actor, "import", name, title=run.title, file=file.name)
    return Kept(run=name, new=new)


def _places(file: Import) -> range:
    return range(len(file.results))


def _token(file: Import, place: int) -> str:
    """By the file's content: the same file twice is the same runs."""
    return f"import:{file.sha256}:{place}"


def before(db: Database, file: Import) -> tuple[str, ...]:
    """The runs that this very file became already; a deleted one comes back when it is saved."""
    found = store.by_token(db, [_token(file, place) for place in _places(file)])
    return tuple(run.id for run in store.load(db, found))


def path(config: Config, sha256: str) -> Path:
    """Where a file is kept, packed: ``gunzip -c | sha256sum`` gives its name."""
    return config.var / "imports" / f"{sha256}.gz"


def _keep_file(config: Config, file: Import, content: Path | BinaryIO) -> None:
    target = path(config, file.sha256)
    if target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_suffix(".part")
    with opened_raw(content) as whole, gzip.GzipFile(part, "wb", mtime=0) as packed:
        shutil.copyfileobj(whole, packed)
    part.replace(target)


def _run(file: Import, found: Found, choice: Choice, known: Catalogue, owner: str) -> Run:
    plan = _plan(file, found, choice, known, owner)
    nothing = all(not part.ok and part.failed for part in found.parts)
    state: State = "failed" if nothing else "done"
    return Run(
        id=store.new_id(),
        state=state,
        source="imported",
        created=store.now(),
        started=None,
        finished=None,
        title=plan.title,
        model=plan.model,
        model_name=plan.model_name,
        artifact=None,
        engine=plan.engine,
        host=found.machine or "",
        workload=plan.workload.id,
        owner=owner,
        cancel=False,
        plan=plan,
        facts={mark.FACT: msgspec.to_builtins(mark.of(file, found))},
        fault=Fault(code="import_nothing_completed") if nothing else None,
    )


def _plan(file: Import, found: Found, choice: Choice, known: Catalogue, owner: str) -> Plan:
    """What was asked, as far as the file tells it; 0 and empty are "not told"."""
    model = known.models.get(choice.model)
    name = model.name if model else found.model or "?"
    engine = found.engine or ""
    tool = NAMES[file.tool]
    source = f"{tool} {file.version}" if file.version else tool
    return Plan(
        title=title(found, choice, known, file.tool),
        model=model.id if model else found.model,
        model_name=name,
        artifact=None,
        engine=engine,
        host=found.machine or "",
        recipe=Recipe(engine=engine, model=found.model, source=source),
        workload=_workload(file, found, tool),
        prompts=(),
        seed=0,
        owner=owner,
    )


def _workload(file: Import, found: Found, tool: str) -> Workload:
    sweep = [part for part in found.parts if part.kind == "sweep"]
    levels = [level(part) for part in sweep]
    prompts = {round(one.prompt_tokens.mean) for one in levels if one.prompt_tokens}
    prompts |= {one.prompt_tokens_planned for one in levels if one.prompt_tokens_planned}
    outputs = {round(one.output_tokens.mean) for one in levels if one.output_tokens}
    outputs |= {one.output_tokens_planned for one in levels if one.output_tokens_planned}
    return Workload(
        id=file.tool,
        name={"en": tool, "zh-TW": tool},
        prefill=(),
        decode=0,
        warmups=0,
        measured=0,
        answers=(),
        answer_tokens=0,
        levels=tuple(dict.fromkeys(part.concurrency for part in sweep)),
        prompt_tokens=_only(prompts),
        output_tokens=_only(outputs),
        requests=max((part.ok + part.failed for part in sweep), default=0),
        arrival=found.arrival,
    )


def _only(values: set[int]) -> int:
    """The one value, or 0 where the levels have several or tell none."""
    return values.pop() if len(values) == 1 else 0

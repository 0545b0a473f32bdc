"""From a choice on a page to a plan that can be carried out, or to the reason why not.

A page chooses catalogue entries and validated numbers; no text of a reader becomes a flag.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence

import msgspec

from bench import catalogue, probe
from bench.available import found_there, program
from bench.catalogue import Catalogue, Engine, Prompt, RecipeEntry, Workload
from bench.config import Config
from bench.errors import BenchError
from bench.machine.machines import LOCAL, Machine
from bench.memory import artifacts
from bench.plan import Plan
from engines import Recipe

MEMORY_FLAGS = {
    "vllm": "gpu-memory-utilization",
    "vllm-community": "gpu-memory-utilization",
    "sglang": "mem-fraction-static",
}
TEMPLATE_TOKENS = 64
"""Room for what a chat template puts around a prompt."""


class Overrides(msgspec.Struct, frozen=True, kw_only=True):
    """What a reader may change of a recipe; None leaves it as it is."""

    context: int | None = None
    """Tokens for each request."""
    slots: int | None = None
    """Requests worked on at once."""
    memory: float | None = None
    """Share of the machine's memory that the engine may take, where it has such a setting."""


def plan_for(
    known: Catalogue,
    config: Config,
    *,
    engine: str,
    workload: str,
    model: str | None = None,
    artifact: str | None = None,
    url: str | None = None,
    key_env: str | None = None,
    overrides: Overrides | None = None,
    seed: int | None = None,
    owner: str = "",
    keep_running: bool = False,
    override_tight: bool = False,
    found: artifacts.Found | None = None,
    machine: Machine | None = None,
) -> Plan:
    """The plan of one run, everything checked that can be checked before it starts.

    ``found`` says where the model's files will be, for a look ahead before they are there. On
    another ``machine`` they are expected where docs/models.md says, and looked at by its engine.

    Raises BenchError for what would make the run fail: an unknown choice, a missing or broken
    model file, a missing program, a context too small, an endpoint that does not answer.
    """
    if workload not in known.workloads:
        raise BenchError("unknown_choice", kind="workload", name=workload)
    work = known.workloads[workload]
    prompts = tuple(known.prompts[id] for id in work.answers)
    name, form, size = None, None, None
    if engine == "endpoint":
        recipe = endpoint_recipe(url or "", model, key_env)
    else:
        entry = recipe_entry(known, engine, model or "", artifact)
        chosen = known.models[entry.model]
        if machine is not None and machine.id != LOCAL:
            found = found_there(known, entry, machine)
        found = found or _find(known, config, entry)
        recipe = _recipe(known.engines[engine], config, entry, found, work, overrides)
        if found is None:  # an engine that fetches its models knows them by a tag
            tag = catalogue.artifact(chosen, entry.artifact).path
            recipe = msgspec.structs.replace(recipe, path=tag)
        name, form, size = chosen.name, entry.artifact, found.bytes if found else None
        if chosen.context and recipe.context > chosen.context:
            raise BenchError(
                "context_beyond_model",
                model=name,
                limit=chosen.context,
                context=recipe.context,
            )
    check_context(recipe, work, prompts)
    return Plan(
        title=f"{name or recipe.model} · {known.engines[engine].name}",
        model=recipe.model,
        model_name=name or recipe.model,
        artifact=form,
        engine=engine,
        host=machine.id if machine else LOCAL,
        recipe=recipe,
        workload=work,
        prompts=prompts,
        seed=secrets.randbelow(2**31) if seed is None else seed,
        artifact_bytes=size or None,
        keep_running=keep_running,
        owner=owner,
        override_tight=override_tight,
    )


def asking(plan: Plan, prompts: tuple[Prompt, ...]) -> Plan:
    """The plan with a team's own questions in place of its workload's. Speed and load are measured
    as before, so they stay comparable. Raises BenchError ``context_too_small``."""
    answers = tuple(prompt.id for prompt in prompts)
    work = msgspec.structs.replace(plan.workload, answers=answers)
    check_context(plan.recipe, work, prompts)
    return msgspec.structs.replace(plan, workload=work, prompts=prompts)


def recipe_entry(
    known: Catalogue, engine: str, model: str, artifact: str | None = None
) -> RecipeEntry:
    """The recipe of a choice; without an artifact the first that this engine has of the model."""
    for entry in known.recipes:
        if (entry.engine, entry.model) == (engine, model) and artifact in (None, entry.artifact):
            return entry
    raise BenchError("no_recipe", engine=engine, model=model, artifact=artifact or "-")


def endpoint_recipe(url: str, model: str | None, key_env: str | None) -> Recipe:
    """What a server that already runs says of itself. The model may be left out if it has one."""
    served = probe.served(url, probe.headers(key_env))
    names = ", ".join(served.models)
    if model is None and len(served.models) != 1:
        raise BenchError("endpoint_model_unclear", url=served.url, models=names)
    model = model or served.models[0]
    if model not in served.models:
        raise BenchError("endpoint_model_missing", model=model, models=names)
    return Recipe(
        engine="endpoint",
        model=model,
        url=served.url,
        key_env=key_env,
        context=served.context or 0,
        slots=served.slots or 0,
        source=served.url,
    )


def context_needed(work: Workload, prompts: Sequence[Prompt]) -> int:
    """Tokens of context that the longest request of a workload needs."""
    answers = max((len(prompt.text.encode()) for prompt in prompts), default=0) + work.answer_tokens
    longest = max(work.prefill, default=0) + work.decode
    return TEMPLATE_TOKENS + max(longest, answers, work.prompt_tokens + work.output_tokens)


def check_context(recipe: Recipe, work: Workload, prompts: Sequence[Prompt]) -> None:
    """Refuse a context that the workload cannot fit in; 0 is unknown and passes.

    Raises BenchError ``context_too_small`` with the numbers.
    """
    needed = context_needed(work, prompts)
    if 0 < recipe.context < needed:
        raise BenchError(
            "context_too_small",
            workload=work.id,
            needed=needed,
            context=recipe.context,
            slots=max(recipe.slots, 1),
            total=needed * max(recipe.slots, 1),
        )


def queueing_levels(recipe: Recipe, work: Workload) -> tuple[int, ...]:
    """The levels at which requests would wait for each other, not be worked on together."""
    return tuple(level for level in work.levels if recipe.slots and level > recipe.slots)


def _recipe(
    engine: Engine,
    config: Config,
    entry: RecipeEntry,
    found: artifacts.Found | None,
    work: Workload,
    overrides: Overrides | None,
) -> Recipe:
    change = overrides or Overrides()
    flags = dict(entry.flags)
    if engine.kind == "process":
        flags.setdefault("threads", _threads())
    if change.memory is not None and engine.id in MEMORY_FLAGS:
        if not 0.1 <= change.memory <= 0.95:
            raise BenchError("memory_share", share=change.memory)
        flags[MEMORY_FLAGS[engine.id]] = change.memory
    slots = change.slots or max((entry.slots, *work.levels))  # fewer would measure queueing
    context = change.context or entry.context
    if slots < 1 or context < 1:
        raise BenchError("numbers_positive", slots=slots, context=context)
    return Recipe(
        engine=engine.id,
        model=entry.model,
        path=str(found.path) if found else "",
        root=str(found.root) if found else "",
        image=entry.image or engine.image,
        flags=flags,
        env=entry.env,
        context=context,
        slots=slots,
        program=program(config) if engine.kind == "process" else None,
        network=entry.network,
        source=entry.source,
    )


def _find(known: Catalogue, config: Config, entry: RecipeEntry) -> artifacts.Found | None:
    """The files of a recipe's artifact; None for an engine that fetches them itself."""
    artifact = catalogue.artifact(known.models[entry.model], entry.artifact)
    return None if artifact.format == "ollama" else artifacts.find(artifact, config)


def _threads() -> int:
    """All cores but one, which is the meter's: llama.cpp's threads wait by spinning, and one that
    has to share its core makes all of them ten times slower."""
    return max(1, len(os.sched_getaffinity(0)) - 1)

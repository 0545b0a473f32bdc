"""A plan from a community recipe: its model is looked for where the catalogue's models are."""

from __future__ import annotations

import secrets
from pathlib import Path

from bench.catalogue import Artifact, Catalogue
from bench.config import Config
from bench.errors import BenchError
from bench.machine.machines import LOCAL, Machine
from bench.memory import artifacts, elsewhere
from bench.plan import Plan
from bench.planning import check_context
from bench.recipes.community import Community, placed


def plan_for_community(
    known: Catalogue,
    config: Config,
    community: Community,
    *,
    workload: str,
    seed: int | None = None,
    owner: str = "",
    override_tight: bool = False,
    machine: Machine | None = None,
) -> Plan:
    """The plan of one run with a recipe that was read and checked by `community.read`.

    On another ``machine`` its files are expected in the folder of their name.

    Raises BenchError as `planning.plan_for` does.
    """
    if workload not in known.workloads:
        raise BenchError("unknown_choice", kind="workload", name=workload)
    work = known.workloads[workload]
    prompts = tuple(known.prompts[id] for id in work.answers)
    artifact = artifact_of(community)
    if machine is None or machine.id == LOCAL:
        found = artifacts.find(artifact, config)
    elif artifact.format == "gguf":
        raise BenchError("machine_pattern", machine=machine.id)
    else:
        found = elsewhere.expected(artifact, Path(machine.models))
    recipe = placed(community, str(found.path), str(found.root))
    check_context(recipe, work, prompts)
    return Plan(
        title=f"{community.name} · {recipe.engine}",
        model=recipe.model,
        model_name=community.name,
        artifact=community.model,
        engine=recipe.engine,
        recipe=recipe,
        workload=work,
        prompts=prompts,
        seed=secrets.randbelow(2**31) if seed is None else seed,
        host=machine.id if machine else LOCAL,
        artifact_bytes=found.bytes or None,
        owner=owner,
        override_tight=override_tight,
    )


def artifact_of(community: Community) -> Artifact:
    """What a recipe names, ``organisation/name`` or ``organisation/name:quantization``."""
    repository, _, quantization = community.model.partition(":")
    gguf = community.recipe.engine == "llama.cpp"
    return Artifact(
        id=community.model,
        format="gguf" if gguf else "safetensors",
        quantization=quantization,
        path=f"{repository}/*{quantization}*.gguf" if gguf else repository,
        repository=repository,
    )

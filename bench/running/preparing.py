"""Before an engine starts: does it fit now, and is its image here?"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

import msgspec

from bench import catalogue
from bench.config import Config
from bench.errors import BenchError
from bench.machine import machines
from bench.machine.host import GIB, Host
from bench.memory import elsewhere, fit, weights
from bench.memory.fit import Fit
from bench.memory.need import Load
from bench.memory.weights import Weights
from bench.plan import Plan
from bench.running.diary import Diary
from engines import Launch, docker, faraway, images
from engines.docker_run import instance


def load_of(plan: Plan) -> Load:
    """What the plan's sweep asks of an engine at its top level; longer prompts come one by one."""
    work = plan.workload
    return Load(
        tokens=work.prompt_tokens + work.output_tokens, concurrency=max(work.levels, default=1)
    )


def check_fit(config: Config, plan: Plan, machine: Host | None = None) -> Fit | None:
    """Judge the plan on its machine as it is now; None where nothing is launched, where the model's
    size is unknown, and on another machine than this worker's (or a page's) own."""
    if plan.engine in ("endpoint", "ollama") or not plan.recipe.path:
        return None
    if plan.host != config.machine:
        return None
    found = _weights(plan)
    return (
        None
        if found is None
        else fit.check(
            machine or machines.look(config),
            found,
            plan.recipe,
            load_of(plan),
            floor=round(config.floor_gib * GIB),
        )
    )


def prepare(
    config: Config, plan: Plan, launch: Launch, diary: Diary, check: Callable[[], None]
) -> None:
    """Refuse what cannot fit, and fetch an image that is missing.

    Another machine's memory is seen from inside a container, so there the image comes first.
    Raises BenchError with what the fit check saw, or what fetching an image may raise.
    """
    if config.machine == machines.LOCAL:
        _fit(config, plan, diary)
    check()
    if launch.image is None:
        return
    client = docker.client(config.docker_host)
    with closing(client):
        _fetch(config, client, plan, launch.image, diary, check)
        if config.machine != machines.LOCAL:
            app = instance(config.var)
            host = config.docker_host
            faraway.describe(client, host, launch.image, app, config.proc, launch.gpus)
            _fit(config, plan, diary)


def _weights(plan: Plan) -> Weights | None:
    """What the plan's model holds: read from its files; elsewhere its publisher's word."""
    recipe = plan.recipe
    if plan.host != machines.LOCAL:
        return elsewhere.published(catalogue.load(), plan.model, plan.artifact)
    form: Literal["gguf", "safetensors"] = (
        "gguf" if recipe.path.endswith(".gguf") else "safetensors"
    )
    return weights.read(Path(recipe.path), form, [Path(recipe.root)] if recipe.root else [])


def _fit(config: Config, plan: Plan, diary: Diary) -> None:
    judged = check_fit(config, plan)
    if judged is not None:
        diary.learn(fit=msgspec.to_builtins(judged))
        _refuse(judged, plan)


def _refuse(judged: Fit, plan: Plan) -> None:
    if judged.verdict == "ready" or (judged.verdict == "tight" and plan.override_tight):
        return
    found = judged.findings[0]
    raise BenchError.of(msgspec.structs.replace(found.seen, remedy=found.remedy))


def _fetch(
    config: Config, client: Any, plan: Plan, image: str, diary: Diary, check: Callable[[], None]
) -> None:
    if images.have(client, config.docker_host, image):
        return
    if not plan.fetch_image:
        raise BenchError("image_not_asked", image=image)

    def tell(pull: images.Pull) -> None:
        share = pull.bytes_done / pull.bytes if pull.bytes else None
        text = f"{image}: {pull.layers_done}/{pull.layers}"
        diary.note("stage", stage="image", share=share, text=text)

    images.pull(client, config.docker_host, image, tell, check)

"""Before an engine starts: does it fit now, and is its image here?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from bench import fit, host, smi, weights
from bench.config import Config
from bench.diary import Diary
from bench.errors import BenchError
from bench.fit import Fit
from bench.host import GIB, Host
from bench.need import Load
from bench.plan import Plan
from engines import Launch, docker, images


def load_of(plan: Plan) -> Load:
    """What the plan's sweep asks of an engine at its top level; longer prompts come one by one."""
    work = plan.workload
    return Load(tokens=work.prompt_tokens + work.output_tokens, concurrency=max(work.levels))


def check_fit(config: Config, plan: Plan, machine: Host | None = None) -> Fit | None:
    """Judge the plan on this machine as it is now; None where nothing is launched here."""
    if plan.engine in ("endpoint", "ollama") or not plan.recipe.path:
        return None
    return fit.check(
        machine or host.read(config.proc, nvidia_smi=smi.ask),
        weights.read(
            Path(plan.recipe.path),
            "gguf" if plan.recipe.path.endswith(".gguf") else "safetensors",
            [Path(plan.recipe.root)] if plan.recipe.root else [],
        ),
        plan.recipe,
        load_of(plan),
        floor=round(config.floor_gib * GIB),
    )


def prepare(
    config: Config, plan: Plan, launch: Launch, diary: Diary, check: Callable[[], None]
) -> None:
    """Refuse what cannot fit, and fetch an image that is missing.

    Raises BenchError with what the fit check saw, or what fetching an image may raise.
    """
    judged = check_fit(config, plan)
    if judged is not None:
        diary.learn(fit=msgspec.to_builtins(judged))
        _refuse(judged, plan)
    if launch.image is not None:
        _fetch(config, launch.image, diary, check)


def _refuse(judged: Fit, plan: Plan) -> None:
    if judged.verdict == "ready" or (judged.verdict == "tight" and plan.override_tight):
        return
    found = judged.findings[0]
    raise BenchError.of(msgspec.structs.replace(found.seen, remedy=found.remedy))


def _fetch(config: Config, image: str, diary: Diary, check: Callable[[], None]) -> None:
    client = docker.client(config.docker_host)
    if images.have(client, config.docker_host, image):
        return

    def tell(pull: images.Pull) -> None:
        share = pull.bytes_done / pull.bytes if pull.bytes else None
        diary.note("stage", stage="image", share=share, text=image)

    images.pull(client, config.docker_host, image, tell, check)

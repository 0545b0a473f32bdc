"""Real vLLM (its build for processors) with a tiny model: as a process, and in a container of a
stand-in Spark by the launch of `engines/vllm.py`. ``scripts/test --all`` installs it."""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import docker as sdk
import msgspec
import pytest

from bench import catalogue, planning, store, worker
from bench.catalogue import Workload
from bench.config import Config
from bench.plan import Plan
from bench.running import loading
from bench.running.loading import Loaded
from bench.store import Run
from bench.text import words
from engines import PORT, Launch, Recipe, process, stages, vllm
from engines.process import Process
from tests.conftest import ROOT, make_image, rootfs
from tests.spark import clear, containers, spark
from tests.test_docker_runs import installed, proc  # noqa: F401
from tests.test_worker import LONG, TINY, ended, levels, measuring, settings, until  # noqa: F401

pytestmark = [pytest.mark.vllm, pytest.mark.engine, pytest.mark.timeout(900)]
MODEL = "tiny-qwen2"
VENV = (ROOT / ".venv-vllm").resolve()
ENV = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_NO_USAGE_STATS": "1", "HF_HUB_OFFLINE": "1"}
LIMIT = 400
"""Seconds for a start on a busy machine; 25 on an idle one."""


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model root with the tiny model, and one whose architecture nobody knows."""
    root = tmp_path_factory.mktemp("models")
    tiny, strange = root / MODEL, root / "strange"
    making = [VENV / "bin" / "python", ROOT / "tests" / "tiny_model.py", tiny]
    subprocess.run(making, check=True, capture_output=True, timeout=LIMIT)
    shutil.copytree(tiny, strange)
    config = json.loads((tiny / "config.json").read_text())
    config |= {"architectures": ["StrangeForCausalLM"], "model_type": "strange"}
    (strange / "config.json").write_text(json.dumps(config))
    return root


def recipe(models: Path, model: str = MODEL) -> Recipe:
    """What a recipe of ``data/recipes/vllm.toml`` becomes, but for what needs a GPU."""
    return Recipe(
        engine="vllm",
        model=model,
        path=str(models / model),
        root=str(models),
        image=catalogue.load().engines["vllm"].image,
        flags={
            "enforce-eager": True,
            "gpu-memory-utilization": 0.1,
            "enable-prefix-caching": True,
            "enable-chunked-prefill": True,
        },
        env=ENV,
        context=1024,
        slots=4,
    )


@pytest.fixture(scope="module")
def running(
    models: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Process, Loaded]]:
    """vLLM as a process of this machine, and what its start told."""
    made = recipe(models)
    served = vllm.serve_args(msgspec.structs.replace(made, network="host"))
    here = {"/models/" + MODEL: made.path, str(vllm.PORT): PORT}
    argv = (str(VENV / "bin" / "vllm"), "serve", *(here.get(word, word) for word in served))
    launch = Launch(argv=argv, port=0, served=MODEL, env=made.env)
    engine = process.start(launch, "vllm", tmp_path_factory.mktemp("vllm"))
    try:
        loaded = loading.wait_ready(
            engine.url, MODEL, {}, engine="vllm", log=engine.log_path,
            died=lambda: None if engine.poll() is None else pytest.fail(log(engine)),
            tell=lambda progress, seconds, line: None, check=lambda: None,
        )  # fmt: skip
        yield engine, loaded
    finally:
        engine.stop()
    assert engine.poll(), "it ended when it was told to"


def log(engine: Process) -> str:
    return engine.log_path.read_text()[-5000:]


def test_vllm_tells_its_stages_and_what_its_start_gave(running: tuple[Process, Loaded]) -> None:
    engine, loaded = running
    progress = loaded.progress
    told = [stage.name for stage in progress.stages]
    assert told[0] == "starting" and "weights" in told and "cache" in told
    assert all(seconds >= 0 for seconds in stages.durations(progress, loaded.seconds).values())
    a_start_of_vllm(msgspec.to_builtins(progress.facts))
    assert engine.url.startswith("http://127.0.0.1:")


def test_a_vllm_that_runs_already_is_measured_through_the_app(
    running: tuple[Process, Loaded],
    settings: Config,  # noqa: F811
) -> None:
    engine, _ = running
    plan = planning.plan_for(
        catalogue.load(), settings, engine="endpoint", workload="demo-1", url=engine.url
    )
    assert (plan.model, plan.recipe.context) == (MODEL, 1024)
    run = worker.submit(settings, msgspec.structs.replace(plan, workload=TINY, prompts=()))
    row = until(settings, run, ended, LIMIT)
    measured(settings, row)
    assert engine.poll() is None, "it is not ours to stop"


@pytest.fixture(scope="module")
def host(request: pytest.FixtureRequest) -> Iterator[str]:
    """A stand-in Spark with an image under NVIDIA's name for its vLLM. vLLM itself comes into the
    container as NVIDIA's driver does: mounted read-only at each start."""
    home = Path(dict(_lines(VENV / "pyvenv.cfg"))["home"]).parent
    cache = Path(request.config.cache.mkdir("rootfs"))
    with tempfile.TemporaryDirectory(prefix="spark-") as name:
        folder = Path(name)
        with spark(folder, cache, driver=[str(VENV), str(home)]) as host:
            tar = shutil.copy(rootfs(cache), folder / "vllm.tar")
            program = folder / "vllm"
            program.write_text(f'#!/bin/sh\nexec {VENV}/bin/vllm "$@"\n')
            program.chmod(0o755)
            with tarfile.open(tar, "a") as packed:
                packed.add(program, arcname="./usr/bin/vllm")
            make_image(host, Path(tar), str(catalogue.load().engines["vllm"].image), "[]")
            yield host


def _lines(file: Path) -> Iterator[tuple[str, str]]:
    for line in file.read_text().splitlines():
        name, _, value = line.partition("=")
        yield name.strip(), value.strip()


@pytest.fixture
def there(
    host: str,
    tmp_path: Path,
    proc: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Config]:
    with installed(tmp_path, proc, host, monkeypatch) as made:
        yield made
    assert clear(host) == [], "a container was left"


def plan_of(config: Config, made: Recipe, workload: Workload = TINY) -> Plan:
    """A plan of this recipe, as of one in the catalogue."""
    plan = planning.plan_for(
        catalogue.load(), config, engine="llama.cpp", model="smollm2-135m", workload="demo-1",
    )  # fmt: skip
    return msgspec.structs.replace(
        plan, title=made.model, model=made.model, model_name=made.model, artifact="bf16",
        engine="vllm", recipe=made, workload=workload, prompts=(),
    )  # fmt: skip


@pytest.mark.docker
def test_vllm_is_started_in_its_container_measured_and_stopped(there: Config, models: Path) -> None:
    run = worker.submit(there, plan_of(there, recipe(models)))
    until(there, run, measuring(there, "c1"), LIMIT)
    assert containers(there.docker_host) == [f"spark-compare-{run}"]
    row = until(there, run, ended, LIMIT)
    measured(there, row)
    facts = row.facts
    assert facts["load_seconds"] > 0 and facts["engine_version"] == facts["load"]["version"]
    assert facts["fit"]["verdict"] == "ready" and facts["image_id"].startswith("sha256:")
    assert "--gpus all" in facts["command"] and "--max-num-seqs 4" in facts["command"]
    a_start_of_vllm(facts["load"])
    with store.opened(there.database) as db:
        told = [e.data["stage"] for e in store.events(db, run) if e.kind == "stage"]
    assert "weights" in told
    assert containers(there.docker_host) == []
    with closing(sdk.DockerClient(base_url=there.docker_host)) as client:
        kept = {volume.name for volume in client.volumes.list()}
    assert "spark-compare-vllm-vllm" in kept, "what vLLM compiles is there for the next start"


@pytest.mark.docker
def test_a_run_on_vllm_is_cancelled_in_mid_sweep(there: Config, models: Path) -> None:
    longer = msgspec.structs.replace(LONG, requests=4000)
    run = worker.submit(there, plan_of(there, recipe(models), longer))
    until(there, run, measuring(there, "c1"), LIMIT)
    with store.opened(there.database) as db:
        store.cancel(db, run)
    row = until(there, run, ended, LIMIT)
    assert row.state == "cancelled"
    assert levels(there, run)[:2] == ["pp32", "tg8"]


@pytest.mark.docker
def test_an_architecture_that_vllm_does_not_know_is_said(there: Config, models: Path) -> None:
    run = worker.submit(there, plan_of(there, recipe(models, "strange")))
    row = until(there, run, ended, LIMIT)
    assert row.fault and row.fault.code == "diagnosis.architecture.cause"
    assert "strange" in words("en").fault(row.fault).lower()


def a_start_of_vllm(facts: dict[str, object]) -> None:
    """Facts that vLLM's own log gave, each of the right order."""
    assert facts["version"]
    assert facts["context"] == 1024
    assert (facts["shards_done"], facts["shards_total"]) == (1, 1)
    assert facts["weights_seconds"] >= 0 and facts["engine_seconds"] > 0
    assert facts["kv_gib"] == 1
    assert facts["kv_tokens"] == pytest.approx(facts["max_concurrency"] * 1024, rel=0.01)
    assert facts["kv_tokens"] == pytest.approx(2**30 / (4 * 2 * 2 * 64 * 2), rel=0.01)


def measured(config: Config, row: Run) -> None:
    """A whole run of the tiny workload, counted by vLLM's own tokenizer."""
    assert (row.state, row.fault) == ("done", None)
    assert row.facts["tokenizer"] == "engine"
    with store.opened(config.database) as db:
        kept = store.levels(db, row.id)
    assert [(level.name, level.ok, level.failed) for level in kept] == [
        ("pp32", 2, 0), ("tg8", 2, 0), ("c1", 4, 0), ("c2", 4, 0),
    ]  # fmt: skip

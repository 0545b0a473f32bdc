"""An engine from its launch to its first answer, and why it ended when it did."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from bench import probe, store
from bench.config import Config
from bench.errors import BenchError, Fault
from bench.machine import host, machines, watchdog
from bench.machine.host import GIB
from bench.probe import Served
from bench.running import diagnosis, loading
from bench.running.diary import Diary
from bench.running.halt import Look
from bench.store import Run
from engines import Exit, Launch, Running, docker, endpoint, process, stages
from engines.eta import PastLoad, eta
from engines.reach import Reach
from engines.stages import Progress


def start(config: Config, run: Run, launch: Launch) -> Running:
    """Start it where its plan says: nowhere, in a process, or in a container."""
    if run.plan.engine == "endpoint":
        return endpoint.Elsewhere(str(run.plan.recipe.url))
    if launch.image is None:
        return process.start(launch, run.id, config.var)
    return docker.start(launch, run.id, config.var, host=config.docker_host, reach=_far(config))


def _far(config: Config) -> Reach:
    if config.machine == machines.LOCAL:
        return Reach()
    machine = machines.named(config, config.machine)
    return Reach(url=machine.url, bind=machine.bind, seen=config.proc)


def looks(config: Config, run: Run, running: Running) -> list[Look]:
    """What is looked at from start to stop: does it live, is there memory left?"""
    if run.plan.engine == "endpoint":
        return []

    def lives() -> BenchError | None:
        try:
            ended = running.poll()
        except BenchError as error:
            return error
        return None if ended is None else why(run, running, ended)

    floor = round(config.floor_gib * GIB)
    return [watchdog.memory_floor(lambda: host.available(config.proc), floor), lives]


def why(run: Run, running: Running, ended: Exit) -> BenchError:
    """The root cause that the log shows of an engine that ended by itself."""
    lines = diagnosis.read_lines(running.log_path) if running.log_path else iter(())
    found = diagnosis.diagnose(lines, ended.code, ended.out_of_memory)
    if found is None:
        return BenchError("engine_died", engine=run.engine, status=ended.code)
    key = f"diagnosis.{found.code}"
    remedy = Fault(code=f"{key}.remedy", fields=found.fields)
    return BenchError.of(Fault(code=f"{key}.cause", fields=found.fields, remedy=remedy))


def ready(
    config: Config,
    run: Run,
    launch: Launch,
    running: Running,
    diary: Diary,
    check: Callable[[], None],
    warm: str | None = None,
) -> Served:
    """Wait for the first answer, telling the stages; returns what the engine says of itself.

    ``warm`` names the run that started it, where this one did not: then there is no start to tell.
    """
    headers = probe.headers(run.plan.recipe.key_env)
    past, rate = _past(config, run), _rate(config)
    if run.plan.engine == "endpoint":
        _reach(running.url, headers)

    def tell(now: Progress, seconds: float, line: str) -> None:
        left = eta(now, seconds, past, run.plan.artifact_bytes, rate)
        diary.note(
            "stage",
            stage=now.stage,
            share=now.share,
            seconds=seconds,
            eta_s=left and left.seconds,
            memory_gib=host.available(config.proc) / GIB,
            text=line[:200],
        )

    loaded = loading.wait_ready(
        running.url,
        launch.served,
        headers,
        engine=run.engine,
        log=None if warm else running.log_path,
        died=lambda: _died(run, running),
        tell=tell,
        check=check,
    )
    served = probe.served(running.url, headers)
    start = {"warm": warm} if warm else _start(loaded) if running.log_path else {}
    said = loaded.progress.facts
    diary.learn(
        **start,
        **running.facts(),
        engine_version=served.version or said.version,
        slots=served.slots or said.slots,
        context=served.context,
        tokenizer="engine" if served.tokenizes else "estimate",
        round_trip=probe.round_trip(served.url, headers),
    )
    return served


def _reach(url: str, headers: Mapping[str, str]) -> None:
    """Nothing here starts an endpoint, so one that is not there is not waited for; one that says
    that it is loading its model (503) is."""
    try:
        probe.served(url, headers)
    except BenchError as error:
        if error.fault.fields.get("status") != 503:
            raise


def _died(run: Run, running: Running) -> BenchError | None:
    ended = running.poll()
    return None if ended is None else why(run, running, ended)


def _start(loaded: loading.Loaded) -> Mapping[str, object]:
    """What is kept of a start. One that was warm has none of it."""
    return {
        "load_seconds": loaded.seconds,
        "load": msgspec.to_builtins(loaded.progress.facts),
        "stages": stages.durations(loaded.progress, loaded.seconds),
    }


def _past(config: Config, run: Run) -> list[PastLoad]:
    """This machine's finished starts of the same artifact on the same engine, newest first."""
    with store.opened(config.database) as db:
        facts = store.facts_of(db, run)
    return [
        PastLoad(seconds=known["load_seconds"], stages=known.get("stages", {}))
        for known in facts
        if "load_seconds" in known
    ]


def _rate(config: Config) -> float | None:
    """Bytes a second at which this machine loaded weights last, whatever the model."""
    with store.opened(config.database) as db:
        for size, known in store.loads(db, config.machine):
            if size and (seconds := known.get("stages", {}).get("weights")):
                return float(size) / float(seconds)
    return None

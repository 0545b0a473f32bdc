"""What several tests use. Real engines are started once a session and always ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import docker
import msgspec
import pytest
from hypothesis import settings
from playwright.sync_api import expect

from bench import catalogue, probe
from bench.catalogue import Catalogue
from bench.config import Config
from bench.planning import plan_for
from engines import Mount, process
from engines.launches import launch_for
from engines.process import Process

settings.register_profile("shared machine", deadline=None)  # no test is timed
settings.load_profile("shared machine")
expect.set_options(timeout=30_000)  # milliseconds that a page has, however busy the machine

DAEMONS = count()
"""Docker engines that were started: each gives its containers addresses of their own."""
StartEngine = Callable[[str], Process]
ROOT = Path(__file__).parents[1]
IMAGE = "spark-compare-test/llama.cpp:bookworm"
LIBRARIES = (
    "libstdc++6,libgomp1,libssl3,libsqlite3-0,libffi8,zlib1g,libbz2-1.0,liblzma5,libexpat1,libnuma1"
)
SERVER = '["/app/llama-server", "--threads", "1"]'
"""llama.cpp's threads wait by spinning: the other core is the meter's."""
PYTHON_MOUNTS = tuple(
    Mount(source=str(folder), target=str(folder))
    for folder in dict.fromkeys((ROOT, Path(sys.prefix), Path(sys.base_prefix)))
)
"""What the test image needs of this machine: its Python, and the project."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="the tests with real vLLM too")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """vLLM takes 3.5 GB and minutes, so its tests are only there when they are asked for."""
    if not config.getoption("--all"):
        spared = [item for item in items if item.get_closest_marker("vllm")]
        config.hook.pytest_deselected(items=spared)
        items[:] = [item for item in items if item not in spared]


def config_in(folder: Path) -> Config:
    """Settings of a machine with nothing on it but the demo packages."""
    return Config(
        var=folder / "var",
        model_roots=(folder / "models", folder / "var" / "models"),
        llama_server=None,
        floor_gib=0.1,
        idle_seconds=1,
        proc=Path("/proc"),
        docker_host=f"unix://{folder}/docker.sock",
    )


@pytest.fixture(autouse=True)
def at_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """AppTest has no browser and no request: whoever it stands for sits at this machine."""
    if "streamlit.testing.v1" in sys.modules:
        monkeypatch.setattr("pages.elements.who.here", lambda: True)
        monkeypatch.setattr("pages.elements.who.address", lambda: "127.0.0.1")


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return config_in(tmp_path)


@pytest.fixture(scope="session")
def known() -> Catalogue:
    return catalogue.load()


@pytest.fixture(scope="session")
def demo_engine(
    known: Catalogue, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[StartEngine]:
    """``demo_engine("smollm2-135m")`` is llama.cpp's real server with that model, ready."""
    config = config_in(tmp_path_factory.mktemp("engines"))
    running: dict[str, Process] = {}

    def start(model: str) -> Process:
        if model not in running:
            plan = plan_for(known, config, engine="llama.cpp-local", model=model, workload="demo-1")
            quiet = msgspec.structs.replace(plan.recipe, flags={"threads": 1})
            engine = process.start(launch_for(quiet), model, config.var)
            running[model] = engine
            until(lambda: probe.ready(engine.url, model), engine)
        return running[model]

    yield start
    for engine in running.values():
        engine.stop()


@pytest.fixture(scope="session")
def llama_url(demo_engine: StartEngine) -> str:
    """The base URL of a real llama.cpp server with SmolLM2 and four slots of 1024 tokens."""
    return demo_engine("smollm2-135m").url


@pytest.fixture(scope="session")
def docker_host(request: pytest.FixtureRequest) -> Iterator[str]:
    """A Docker engine of our own, with an image that holds llama.cpp's real server."""
    tar = rootfs(Path(request.config.cache.mkdir("rootfs")))
    with tempfile.TemporaryDirectory(prefix="dockerd-") as name, dockerd(Path(name)) as host:
        make_image(host, tar)
        yield host


@contextmanager
def dockerd(folder: Path, programs: Path | None = None, *more: str) -> Iterator[str]:
    """Debian's Docker engine with everything it has below a folder; the host's is not touched.

    ``programs`` is a folder that comes first on its PATH; ``more`` are further options.
    """
    host = f"unix://{folder}/docker.sock"
    path = f"{programs}:{os.environ['PATH']}" if programs else os.environ["PATH"]
    network = (100 + os.getpid() + 37 * next(DAEMONS)) % 200
    with (folder / "dockerd.log").open("wb") as log:
        daemon = subprocess.Popen(
            ["dockerd", "--host", host, "--data-root", folder / "data", "--exec-root",
             folder / "exec", "--pidfile", folder / "dockerd.pid", "--iptables=false",
             f"--fixed-cidr=172.17.{network}.0/24", *more],
            stdout=log, stderr=log, start_new_session=True, env=os.environ | {"PATH": path},
        )  # fmt: skip
    try:
        until(lambda: (folder / "docker.sock").exists() or daemon.poll() is not None, limit=60)
        assert daemon.poll() is None, (folder / "dockerd.log").read_text()
        yield host
    finally:
        daemon.send_signal(signal.SIGTERM)
        try:
            daemon.wait(60)
        except subprocess.TimeoutExpired:
            os.killpg(daemon.pid, signal.SIGKILL)
            daemon.wait()
        mounted = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
        for place in reversed([place for place in mounted if place.startswith(f"{folder}/")]):
            subprocess.run(["umount", "--lazy", place], check=True)


def rootfs(cache: Path) -> Path:
    """Debian's smallest system as a tar file, made once."""
    tar = cache / "bookworm-numa.tar"
    if not tar.exists():
        made = cache / "bookworm"
        subprocess.run(["rm", "-rf", made], check=True)
        subprocess.run(
            ["debootstrap", "--variant=minbase", f"--include={LIBRARIES}", "bookworm", made],
            check=True, capture_output=True, timeout=280,
        )  # fmt: skip
        server = made / "app" / "llama-server"
        server.parent.mkdir()
        server.write_text(
            f'#!/bin/sh\ncd {ROOT}\nexec {sys.executable} -m engines.llama_cpp_local "$@"\n'
        )
        server.chmod(0o755)
        with tarfile.open(tar.with_suffix(".part"), "w") as packed:
            packed.add(made, arcname=".", filter=lambda entry: None if spare(entry) else entry)
        tar.with_suffix(".part").rename(tar)
        subprocess.run(["rm", "-rf", made], check=True)
    return tar


def spare(entry: tarfile.TarInfo) -> bool:
    """What an image does not need: packages, their lists, and devices, which Docker makes."""
    return entry.name.startswith(
        ("./var/cache/apt/", "./var/lib/apt/lists/", "./usr/share/doc/", "./usr/share/locale/")
    ) or not (entry.isfile() or entry.isdir() or entry.issym() or entry.islnk())


def make_image(host: str, tar: Path, image: str = IMAGE, entrypoint: str = SERVER) -> None:
    client = docker.DockerClient(base_url=host, timeout=120)
    repository, tag = image.split(":")
    client.api.import_image_from_file(
        str(tar), repository, tag, changes=["ENV LANG=C.UTF-8", f"ENTRYPOINT {entrypoint}"]
    )
    client.close()


def until(true: Callable[[], bool], engine: Process | None = None, limit: float = 120) -> None:
    """Wait for something to become true; fail when it does not or the engine has died."""
    deadline = time.monotonic() + limit
    while not true():
        if engine and engine.poll():
            pytest.fail(f"the engine ended:\n{engine.log_path.read_text()}")
        if time.monotonic() > deadline:
            pytest.fail("it did not become true in time")
        time.sleep(0.05)

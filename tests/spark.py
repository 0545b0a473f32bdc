"""A stand-in for a DGX Spark: a Docker engine that gives "GPUs" to containers, and an image under
llama.cpp's own name that serves with llama.cpp's real server on the processor.

Docker gives a container GPUs when NVIDIA's hook is on its PATH, and calls it at each start. Here
the hook is a script of ours. Where NVIDIA's mounts the driver into the container, it mounts the
folders that it is told, read-only; the request for GPUs is real, and so is all of the rest.
"""

from __future__ import annotations

import shutil
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import docker as sdk
import pytest

from tests.conftest import ROOT, dockerd, make_image, rootfs

LLAMA_CPP = "ghcr.io/ggml-org/llama.cpp:server-cuda13"
HOOK = """#!{python}
import json, pathlib, subprocess, sys

state = json.load(sys.stdin)  # of the container, which has not entered its root yet
bundle = pathlib.Path(state["bundle"])
root = json.loads((bundle / "config.json").read_text())["root"]["path"]
for folder in {folders!r}:
    target = pathlib.Path(f"{{bundle / root}}{{folder}}")
    target.mkdir(parents=True, exist_ok=True)
    inside = ["nsenter", "--mount", "--target", str(state["pid"])]
    subprocess.run([*inside, "mount", "-o", "bind,ro", folder, target], check=True)
"""
LEFT_OUT = ("__pycache__", "site-packages", "test", "idlelib", "tkinter", "ensurepip", "lib2to3")
SITE = Path(sys.prefix, "lib", f"python3.{sys.version_info.minor}", "site-packages")


@contextmanager
def spark(folder: Path, cache: Path, *more: str, driver: Sequence[str] = ()) -> Iterator[str]:
    """The Docker host of a stand-in Spark with llama.cpp's image, all below a folder.

    ``driver`` are the folders that a container with GPUs sees, ``more`` options of dockerd.
    """
    programs = folder / "programs"
    programs.mkdir(exist_ok=True)
    hook = programs / "nvidia-container-runtime-hook"
    hook.write_text(HOOK.format(python=sys.executable, folders=list(driver)))
    hook.chmod(0o755)
    with dockerd(folder, programs, *more) as host:
        if not (folder / "imported").exists():
            tar = server(cache, folder / "server.tar")
            make_image(host, tar, LLAMA_CPP)
            tar.unlink()
            (folder / "imported").touch()
        yield host


@pytest.fixture(scope="session")
def spark_host(request: pytest.FixtureRequest) -> Iterator[str]:
    cache = Path(request.config.cache.mkdir("rootfs"))
    with tempfile.TemporaryDirectory(prefix="spark-") as name, spark(Path(name), cache) as host:
        yield host


def containers(host: str) -> list[str]:
    """The names of all containers, stopped ones too."""
    with closing(sdk.DockerClient(base_url=host)) as client:
        return [container.name for container in client.containers.list(all=True)]


def clear(host: str) -> list[str]:
    """Remove every container; the names of those that were there."""
    with closing(sdk.DockerClient(base_url=host)) as client:
        left = client.containers.list(all=True)
        for container in left:
            container.remove(force=True)
        return [container.name for container in left]


def server(cache: Path, tar: Path) -> Path:
    """A root filesystem that can serve by itself: this Python, xllamacpp and our launcher."""
    shutil.copy(rootfs(cache), tar)
    prefix = Path(sys.base_prefix)
    parts = [
        *prefix.glob("lib/libpython3*.so*"),
        *prefix.glob("bin/python3*"),
        prefix / "lib" / f"python3.{sys.version_info.minor}",
        Path(sys.prefix, "pyvenv.cfg"),
        *Path(sys.prefix, "bin").glob("python*"),
        *SITE.glob("xllamacpp*"),
        *SITE.glob("msgspec*"),
        ROOT / "engines",
    ]
    with tarfile.open(tar, "a") as packed:
        for part in parts:
            packed.add(part, arcname=f".{part}", filter=needed)
    return tar


def needed(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """What serving needs of Python's own library: not its tests, tools and other packages."""
    name = Path(f"/{entry.name}".replace("/./", "/"))
    own = not name.is_relative_to(SITE)
    return None if name.name == "__pycache__" or (own and name.name in LEFT_OUT) else entry

"""Another machine's memory and names, read by small programs in containers of ours.

Docker itself tells neither MemAvailable nor the product. A container sees both in its own ``/proc``
and ``/sys``. What is read lands in a folder that `bench.machine.host` reads like the machine's own.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import requests
from docker import errors

from engines.docker_faults import explained
from engines.docker_run import APP, RUN

FILES = {
    "meminfo": "/proc/meminfo",
    "loadavg": "/proc/loadavg",
    "uptime": "/proc/uptime",
    "product_name": "/sys/class/dmi/id/product_name",
}
MARK = "== spark-compare "
DESCRIBE = (
    "; ".join(f"echo '{MARK}{name}'; cat {path} 2>/dev/null" for name, path in FILES.items())
    + f"; echo '{MARK}nvidia-smi'; nvidia-smi -L 2>/dev/null; true"
)
FOLLOW = "while cat /proc/meminfo; do echo; sleep 0.5; done"


def describe(client: Any, host: str, image: str, app: str, folder: Path, gpus: bool) -> None:
    """Look at the machine once, with an image that is there, and write what was seen.

    Raises BenchError as starting an engine does.
    """
    more = {"device_requests": [_all_gpus()]} if gpus else {}
    with explained(host, image):
        told = client.containers.run(
            image,
            [DESCRIBE],
            entrypoint=["/bin/sh", "-c"],
            labels={APP: app, RUN: "look"},
            network_mode="none",
            security_opt=["no-new-privileges"],
            remove=True,
            **more,
        )
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in parted(told.decode(errors="replace")).items():
        _write(folder / name, text)


def parted(told: str) -> Mapping[str, str]:
    """What `DESCRIBE` printed, by name; what could not be read is left out."""
    parts = re.split(rf"^{re.escape(MARK)}(\S+)\n", told, flags=re.MULTILINE)[1:]
    return {name: text for name, text in zip(parts[::2], parts[1::2], strict=True) if text.strip()}


class Memory:
    """Copies a machine's ``/proc/meminfo`` here twice a second, until `close`."""

    def __init__(self, container: Any, folder: Path) -> None:
        self._container = container
        self._file = folder / "meminfo"
        self._over = threading.Event()
        folder.mkdir(parents=True, exist_ok=True)
        self._thread = threading.Thread(target=self._run, name="far memory", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._over.set()

    def _run(self) -> None:
        while not self._over.is_set():
            with suppress(errors.DockerException, requests.RequestException, OSError):
                self._copy()  # whether the engine still lives is asked elsewhere
            self._over.wait(1)

    def _copy(self) -> None:
        told = self._container.exec_run(["/bin/sh", "-c", FOLLOW], stream=True).output
        text = ""
        for piece in told:
            if self._over.is_set():
                return
            *whole, text = (text + piece.decode(errors="replace")).split("\n\n")
            if whole and "MemAvailable" in whole[-1]:
                _write(self._file, whole[-1] + "\n")


def _write(path: Path, text: str) -> None:
    """A reader sees the old file or the new one, never a part."""
    part = path.with_name(f"{path.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def _all_gpus() -> Any:
    from docker import types

    return types.DeviceRequest(count=-1, capabilities=[["gpu"]])

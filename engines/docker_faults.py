"""What Docker's exceptions mean for a person."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import requests
from docker import errors

from bench.errors import BenchError

REASONS = (
    (r"could not select device driver|unknown runtime|nvidia-container", "docker_no_gpu"),
    (r"port is already allocated|address already in use", "docker_port_taken"),
    (r"bind source path does not exist: (?P<path>\S+)", "docker_mount_missing"),
    (r"no space left on device", "docker_disk_full"),
    (r"no matching manifest|exec format error|does not match the specified platform",
     "docker_platform"),
    (r"no such host|i/o timeout|network is unreachable|connection refused|TLS handshake"
     r"|context deadline exceeded", "docker_no_network"),
    (r"pull access denied|unauthorized|denied|forbidden", "docker_image_denied"),
    (r"manifest unknown|not found|no such image", "docker_image_missing"),
    (r"error setting rlimit", "docker_limits"),
    (r"exec: |no such file or directory", "docker_command"),
)  # fmt: skip
"""Docker's words, most telling first, and the code of our sentence."""


@contextmanager
def explained(host: str, image: str = "") -> Iterator[None]:
    """Turn what the SDK raises into a BenchError."""
    try:
        yield
    except (errors.DockerException, requests.RequestException) as fault:
        raise explain(fault, host, image) from fault


def explain(fault: Exception, host: str, image: str = "") -> BenchError:
    if isinstance(fault, errors.ImageNotFound):
        return BenchError("docker_image_missing", image=image)
    if isinstance(fault, errors.NotFound):
        return BenchError("docker_gone")
    if isinstance(fault, errors.APIError):
        return _refused(str(fault.explanation or fault), image)
    return _unreachable(str(fault), host)


def _refused(text: str, image: str) -> BenchError:
    for pattern, code in REASONS:
        if match := re.search(pattern, text, re.IGNORECASE):
            return BenchError(code, **{"image": image, "reason": text, **match.groupdict()})
    return BenchError("docker_failed", reason=text)


def _unreachable(text: str, host: str) -> BenchError:
    socket = host.removeprefix("unix://")
    if host.startswith("ssh://"):
        return BenchError("docker_far", host=host)
    if "SSLError" in text:
        return BenchError("docker_tls", host=host, reason=text[-200:])
    if "PermissionError" in text or "Permission denied" in text:
        return BenchError("docker_denied", socket=socket)
    if "FileNotFoundError" in text and host.startswith("unix://"):
        return BenchError("docker_missing", socket=socket)
    return BenchError("docker_down", socket=socket)

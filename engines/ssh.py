"""The system's own ``ssh``: keys, names and known hosts are those of the user who runs the worker.
What it says when it fails becomes a sentence.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from bench.errors import BenchError


def command(host: str, *options: str) -> list[str]:
    """``ssh`` to ``ssh://[user@]name[:port]`` as a list of arguments. Nothing is ever asked."""
    parts = urlsplit(host)
    words = ["ssh", "-T", "-o", "BatchMode=yes", *options]
    if parts.port:
        words += ["-p", str(parts.port)]
    if parts.username:
        words += ["-l", parts.username]
    return [*words, "--", str(parts.hostname)]


def refusal(host: str, told: str) -> BenchError:
    """What ``ssh`` told when it failed, as one of ``docker_host_key``, ``ssh_denied`` and
    ``tunnel_failed``."""
    if "Host key verification failed" in told or "not found in known_hosts" in told:
        return BenchError("docker_host_key", host=host)
    if "Permission denied (" in told:
        return BenchError("ssh_denied", host=host)
    return BenchError("tunnel_failed", host=host, reason=told.strip()[-300:] or "–")

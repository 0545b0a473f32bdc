"""Container images: what one is, and fetching it with progress."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from docker import errors, utils

from bench.errors import BenchError
from engines.docker_faults import explain, explained


class Pull(msgspec.Struct, frozen=True, kw_only=True):
    """How far fetching an image is."""

    layers: int
    layers_done: int
    bytes: int
    """Of layers whose size is known so far."""
    bytes_done: int


def facts(client: Any, host: str, image: str) -> dict[str, Any]:
    """What identifies an image. Raises BenchError ``docker_image_missing``."""
    with explained(host, image):
        found = client.images.get(image)
    digests = found.attrs.get("RepoDigests") or []
    return {
        "image": image,
        "image_id": found.id,
        "image_digest": digests[0] if digests else None,
        "image_bytes": found.attrs["Size"],
        "image_architecture": found.attrs["Architecture"],
    }


def pull(
    client: Any,
    host: str,
    image: str,
    tell: Callable[[Pull], None],
    check: Callable[[], None] = lambda: None,
) -> None:
    """Fetch an image; layers that are here already are not fetched again.

    ``check`` raises to give it up; what was fetched is kept for the next try. Raises BenchError
    ``docker_no_network``, ``docker_image_missing``, ``docker_image_denied``, ``docker_platform`` or
    ``docker_disk_full``.
    """
    repository, tag = utils.parse_repository_tag(image)
    sizes: dict[str, int] = {}
    done: dict[str, int] = {}
    finished: set[str] = set()
    with explained(host, image):
        for event in client.api.pull(repository, tag or "latest", stream=True, decode=True):
            check()
            if "error" in event:
                raise explain(errors.APIError("pull", explanation=event["error"]), host, image)
            _note(event, sizes, done, finished)
            tell(
                Pull(
                    layers=len(done),
                    layers_done=len(finished),
                    bytes=sum(sizes.values()),
                    bytes_done=sum(done.values()),
                )
            )


def have(client: Any, host: str, image: str) -> bool:
    try:
        facts(client, host, image)
    except BenchError as fault:
        if fault.fault.code == "docker_image_missing":
            return False
        raise
    return True


def _note(
    event: dict[str, Any], sizes: dict[str, int], done: dict[str, int], finished: set[str]
) -> None:
    status, layer = event.get("status", ""), event.get("id", "")
    if status == "Pulling fs layer":
        done[layer] = 0
    elif status == "Downloading" and layer in done:
        detail = event.get("progressDetail") or {}
        done[layer] = detail.get("current", 0)
        sizes[layer] = detail.get("total", sizes.get(layer, 0))
    elif status in ("Download complete", "Already exists", "Pull complete"):
        done[layer] = sizes.get(layer, 0)
        if status != "Download complete":
            finished.add(layer)

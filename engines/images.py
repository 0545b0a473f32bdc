"""Container images: what one is, and fetching it with progress."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Any

import msgspec
from docker import errors, utils

from bench.errors import BenchError
from engines.docker_faults import explain, explained

PERIOD = 0.5
"""Seconds between two reports."""


class Pull(msgspec.Struct, frozen=True, kw_only=True):
    """How far fetching an image is."""

    layers: int
    layers_done: int
    bytes: int
    """Of layers whose size is known so far."""
    bytes_done: int


class Layer(msgspec.Struct, frozen=True):
    bytes: int = 0
    bytes_done: int = 0
    here: bool = False


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


def names(client: Any, host: str) -> dict[str, int]:
    """Bytes of every image that is here, by each of its tags and digests."""
    with explained(host):
        return {
            name: image.attrs["Size"]
            for image in client.images.list()
            for name in (*(image.attrs["RepoTags"] or ()), *(image.attrs["RepoDigests"] or ()))
        }


def pull(
    client: Any,
    host: str,
    image: str,
    tell: Callable[[Pull], None],
    check: Callable[[], None] = lambda: None,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Fetch an image; layers that are here already are not fetched again.

    ``tell`` is called at most twice a second, and at the end. ``check`` raises to give it up; what
    was fetched is kept for the next try. Raises BenchError ``docker_no_network``,
    ``docker_image_missing``, ``docker_image_denied``, ``docker_platform`` or ``docker_disk_full``.
    """
    repository, tag = utils.parse_repository_tag(image)
    layers: dict[str, Layer] = {}
    told = clock()
    with explained(host, image):
        pulling = client.api.pull(repository, tag or "latest", stream=True, decode=True)
    with explained(host, image), closing(pulling) as events:
        for event in events:
            check()
            if "error" in event:
                raise explain(errors.APIError("pull", explanation=event["error"]), host, image)
            _note(event, layers)
            if clock() - told >= PERIOD:
                told = clock()
                tell(_sum(layers))
    tell(_sum(layers))


def have(client: Any, host: str, image: str) -> bool:
    try:
        facts(client, host, image)
    except BenchError as fault:
        if fault.fault.code == "docker_image_missing":
            return False
        raise
    return True


def _sum(layers: Mapping[str, Layer]) -> Pull:
    return Pull(
        layers=len(layers),
        layers_done=sum(layer.here for layer in layers.values()),
        bytes=sum(layer.bytes for layer in layers.values()),
        bytes_done=sum(layer.bytes_done for layer in layers.values()),
    )


def _note(event: Mapping[str, Any], layers: dict[str, Layer]) -> None:
    """Docker's own events, in which ``id`` is a layer's; other events have another ``status``."""
    status, id = event.get("status", ""), event.get("id", "")
    layer = layers.get(id, Layer())
    if status in ("Pulling fs layer", "Waiting"):
        layers[id] = layer
    elif status == "Downloading":
        detail = event.get("progressDetail") or {}
        layers[id] = Layer(bytes=detail.get("total", 0), bytes_done=detail.get("current", 0))
    elif status == "Download complete":
        layers[id] = Layer(bytes=layer.bytes, bytes_done=layer.bytes)
    elif status in ("Already exists", "Pull complete"):
        layers[id] = Layer(bytes=layer.bytes, bytes_done=layer.bytes, here=True)

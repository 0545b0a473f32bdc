"""Containers of ours that are there: what a killed worker left, and what was kept on request.

A container without our labels (`docker_run.py`) is never touched.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import msgspec
from docker import errors

from engines.docker import LOCAL, client
from engines.docker_faults import explained
from engines.docker_run import APP, RUN, instance


class Leftover(msgspec.Struct, frozen=True, kw_only=True):
    """A container of ours."""

    id: str
    name: str
    run: str
    state: str
    image: str
    created: str


def ours(var: Path, host: str = LOCAL) -> list[Leftover]:
    """The containers that this installation started and that are still there."""
    with closing(client(host)) as docker_client, explained(host):
        return [
            Leftover(
                id=container.id,
                name=container.name,
                run=container.labels.get(RUN, ""),
                state=container.status,
                image=container.attrs["Config"]["Image"],
                created=container.attrs["Created"],
            )
            for container in _ours(docker_client, var)
        ]


def stop_strays(var: Path, host: str = LOCAL, keep: Collection[str] = ()) -> list[str]:
    """Stop and remove what a killed worker left, but for the runs in ``keep``; the others' ids.

    Call it with the lock held.
    """
    with closing(client(host)) as docker_client, explained(host):
        strays = [c for c in _ours(docker_client, var) if c.labels.get(RUN, "") not in keep]
        return [_ended(container) for container in strays]


def stop(var: Path, run: str, host: str = LOCAL) -> None:
    """Stop and remove the container of a run; one that is gone already does no harm."""
    with closing(client(host)) as docker_client, explained(host):
        for container in _ours(docker_client, var):
            if container.labels.get(RUN) == run:
                _ended(container)


def _ended(container: Any) -> str:
    with suppress(errors.NotFound):
        container.remove(force=True)
    return str(container.labels.get(RUN, ""))


def _ours(docker_client: Any, var: Path) -> list[Any]:
    label = f"{APP}={instance(var)}"
    return list(
        docker_client.containers.list(all=True, ignore_removed=True, filters={"label": label})
    )

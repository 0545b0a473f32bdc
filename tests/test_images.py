from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import docker as sdk
import pytest

from bench.errors import BenchError
from engines import images
from engines.images import Pull
from tests.registry import registry

pytestmark = pytest.mark.docker


@pytest.fixture
def client(docker_host: str) -> Iterator[sdk.DockerClient]:
    with closing(sdk.DockerClient(base_url=docker_host)) as client:
        yield client


def test_an_image_is_fetched_layer_by_layer_and_known_by_its_digest(
    docker_host: str, client: sdk.DockerClient
) -> None:
    told: list[Pull] = []
    with registry(layers=3) as name:
        image = f"{name}:1"
        assert not images.have(client, docker_host, image)
        ticks = iter(range(1_000_000))
        images.pull(client, docker_host, image, told.append, clock=lambda: next(ticks))
    assert (told[-1].layers, told[-1].layers_done) == (3, 3)
    assert max(pull.bytes_done for pull in told) > 0
    facts = images.facts(client, docker_host, image)
    assert facts["image_digest"].startswith(f"{name}@sha256:")
    assert facts["image_architecture"] == "amd64"
    assert images.have(client, docker_host, image)
    client.images.remove(image)


def test_fetching_can_be_given_up(docker_host: str, client: sdk.DockerClient) -> None:
    class Stop(Exception):
        pass

    def check() -> None:
        raise Stop

    with registry() as name, pytest.raises(Stop):
        images.pull(client, docker_host, f"{name}:1", lambda pull: None, check)


def test_a_tag_that_is_not_published_is_said_so(docker_host: str, client: sdk.DockerClient) -> None:
    with registry() as name, pytest.raises(BenchError) as caught:
        images.pull(client, docker_host, f"{name}:2", lambda pull: None)
    assert caught.value.fault.code == "docker_image_missing"


def test_no_connection_is_said_so(docker_host: str, client: sdk.DockerClient) -> None:
    with pytest.raises(BenchError) as caught:
        images.pull(client, docker_host, "127.0.0.1:1/test/image:1", lambda pull: None)
    assert caught.value.fault.code == "docker_no_network"

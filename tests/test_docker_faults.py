from __future__ import annotations

import re
from pathlib import Path

import pytest
import requests
from docker import errors

from bench.errors import BenchError
from bench.text import words
from engines import docker_faults

ROOT = Path(__file__).parents[1]
RECORDED = (ROOT / "tests" / "data" / "docker_sdk_errors.txt").read_text()
"""What the SDK really said, each case under ``## title``."""


def explanation(title: str) -> tuple[int, str]:
    case = RECORDED.split(f"## {title}")[1].split("\n## ")[0]
    found = re.search(r"status_code (\d+) explanation '(.*)'", case)
    assert found
    return int(found[1]), found[2]


def api_error(status: int, text: str) -> errors.APIError:
    answer = requests.Response()
    answer.status_code = status
    return errors.APIError("refused", response=answer, explanation=text)


@pytest.mark.parametrize(
    ("title", "code"),
    [
        ("gpus all run", "docker_no_gpu"),
        ("gpus driver=nvidia ids", "docker_no_gpu"),
        ("runtime=nvidia", "docker_no_gpu"),
        ("port in use (bridge publish)", "docker_port_taken"),
        ("bad mount type (Mount bind missing src)", "docker_mount_missing"),
        ("image missing: containers.run (auto pull)", "docker_no_network"),
        ("images.pull no network", "docker_no_network"),
    ],
)
def test_what_docker_really_said_gets_its_sentence(title: str, code: str) -> None:
    fault = docker_faults.explain(api_error(*explanation(title)), "unix:///d.sock", "image:tag")
    assert fault.fault.code == code


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("no matching manifest for linux/arm64/v8 in the manifest list entries", "docker_platform"),
        ("manifest for vllm/vllm-openai:v0 not found: manifest unknown", "docker_image_missing"),
        ("pull access denied for a/b, repository does not exist", "docker_image_denied"),
        ("write /var/lib/docker/tmp/x: no space left on device", "docker_disk_full"),
        ("error setting rlimit type 8: operation not permitted", "docker_limits"),
        ('exec: "/nope": stat /nope: no such file or directory', "docker_command"),
        ("something new", "docker_failed"),
    ],
)
def test_other_words_of_docker(text: str, code: str) -> None:
    fault = docker_faults.explain(api_error(500, text), "unix:///d.sock", "image:tag")
    assert fault.fault.code == code


@pytest.mark.parametrize(
    ("text", "host", "code"),
    [
        ("('Connection aborted.', PermissionError(13, 'Permission denied'))", "unix:///d.sock",
         "docker_denied"),
        ("('Connection aborted.', FileNotFoundError(2, 'No such file'))", "unix:///d.sock",
         "docker_missing"),
        ("('Connection aborted.', ConnectionRefusedError(111, 'refused'))", "unix:///d.sock",
         "docker_down"),
        ("('Connection aborted.', RemoteDisconnected('…'))", "ssh://spark", "docker_far"),
        ("Max retries exceeded (Caused by SSLError(SSLCertVerificationError(1, 'certificate')))",
         "tcp://spark:2376", "docker_tls"),
    ],
)  # fmt: skip
def test_a_daemon_that_cannot_be_reached(text: str, host: str, code: str) -> None:
    fault = docker_faults.explain(errors.DockerException(text), host)
    assert fault.fault.code == code


@pytest.mark.parametrize("language", ["en", "zh-TW"])
def test_every_error_has_a_sentence_in_both_languages(language: str) -> None:
    files = [*(ROOT / "engines").glob("*.py"), *(ROOT / "bench").rglob("*.py")]
    raised = {
        code: file.name
        for file in files
        for code in re.findall(r'BenchError\(\s*"(\w+)"', file.read_text(encoding="utf-8"))
    }
    raised |= {code: "docker_faults.py" for _, code in docker_faults.REASONS}
    assert len(raised) > 60
    assert {c: f for c, f in raised.items() if f"errors.{c}" not in words(language)} == {}


def test_an_error_that_is_not_dockers_is_left_alone() -> None:
    with pytest.raises(ZeroDivisionError), docker_faults.explained("unix:///d.sock"):
        raise ZeroDivisionError
    with pytest.raises(BenchError), docker_faults.explained("unix:///d.sock"):
        raise requests.ConnectionError("gone")

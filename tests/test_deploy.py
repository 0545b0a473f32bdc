"""The services and the container of the pages: what they promise, read from their files."""

from __future__ import annotations

import configparser
import re
from pathlib import Path

import msgspec
import pytest
import yaml

from bench import available, config, worker
from bench.config import Config
from bench.recipes.community import IMAGES
from bench.running import lock

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
UNITS = sorted(DEPLOY.glob("*.service"))
OPERATIONS = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")


def unit(file: Path) -> configparser.SectionProxy:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(file)
    return parser["Service"]


def test_the_server_of_a_service_starts_no_worker(config: Config) -> None:
    worker.ensure(msgspec.structs.replace(config, start_worker=False))
    assert not (config.logs / "worker.log").exists()
    assert lock.is_free(config.lock)


def test_a_server_without_docker_leaves_docker_to_the_worker(config: Config) -> None:
    from bench import catalogue

    vllm = catalogue.load().engines["vllm"]
    assert available.engine_problem(vllm, config) is not None
    assert (
        available.engine_problem(vllm, msgspec.structs.replace(config, start_worker=False)) is None
    )


def test_the_pages_service_leaves_the_worker_to_its_own_service() -> None:
    pages = unit(DEPLOY / "spark-compare.service")
    assert pages["Environment"] == "SPARK_COMPARE_START_WORKER=0"
    assert pages["ExecStart"].endswith(".venv/bin/streamlit run app.py")
    assert unit(DEPLOY / "spark-compare-worker.service")["ExecStart"].endswith("-m bench.worker")
    assert config.read({"SPARK_COMPARE_START_WORKER": "0"}).start_worker is False
    assert config.read({}).start_worker is True


@pytest.mark.parametrize("file", [*UNITS, DEPLOY / "compose.yaml"], ids=lambda file: file.name)
def test_every_setting_used_is_documented(file: Path) -> None:
    settings = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    used = re.findall(r"SPARK_COMPARE_\w+", file.read_text(encoding="utf-8"))
    assert used
    assert all(f"`{name}`" in settings for name in used)


def test_the_container_of_the_pages_has_no_docker_and_serves_this_machine_only() -> None:
    text = (DEPLOY / "compose.yaml").read_text(encoding="utf-8")
    (service,) = yaml.safe_load(text)["services"].values()
    assert "docker.sock" not in text and "privileged" not in text
    assert service["ports"] == ["127.0.0.1:8501:8501"]
    assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])
    assert (DEPLOY / service["build"]["context"] / service["build"]["dockerfile"]).exists()


def test_the_guide_names_every_file_and_image_that_it_speaks_of() -> None:
    for path in re.findall(r"\b(?:deploy|scripts)/[\w.-]+", OPERATIONS):
        assert (ROOT / path).exists() or path.endswith("spark-compare"), path
    assert all(f"`{image}`" in OPERATIONS for image in IMAGES)

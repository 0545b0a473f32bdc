"""Sentences that put a run's numbers beside the machine and beside its own repeats."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from bench import catalogue, store
from bench.results import Result
from bench.shown import sentences
from bench.summary import Mean
from bench.text import words
from bench.web import links
from tests import examples

KNOWN = catalogue.load()
t = words("en")


@pytest.fixture
def result(tmp_path: Path) -> Result:
    ids = examples.fill(tmp_path / "bench.db")
    with store.opened(tmp_path / "bench.db") as db:
        (found,) = links.load(db, [ids["fast"]], KNOWN, t)
    return found


def like(result: Result, speed: float, bandwidth: float | None) -> Result:
    """The same run as if gpt-oss-120b had written at this speed on such a machine."""
    assert result.run
    model = KNOWN.models["gpt-oss-120b"]
    form = next(one for one in model.artifacts if one.format == "safetensors")
    plan = msgspec.structs.replace(result.run.plan, artifact_bytes=form.size_bytes)
    run = msgspec.structs.replace(
        result.run, model=model.id, artifact=form.id, plan=plan,
        facts={"host": {"bandwidth": bandwidth}},
    )  # fmt: skip
    levels = tuple(
        msgspec.structs.replace(level, decode_speed=Mean(n=5, mean=speed))
        if level.kind == "decode"
        else level
        for level in result.levels
    )
    return msgspec.structs.replace(result, run=run, levels=levels)


def test_a_speed_is_shown_as_a_share_of_what_the_memory_allows(result: Result) -> None:
    model = KNOWN.models["gpt-oss-120b"]
    assert model.parameters and model.active_parameters
    form = next(one for one in model.artifacts if one.format == "safetensors")
    needed = (form.size_bytes or 0) * model.active_parameters / model.parameters
    said = sentences.memory_limit(like(result, 34.33, 273e9), KNOWN, t)
    assert f"{round(100 * 34.33 * needed / 273e9)} %" in said.replace("%", " %").replace("  ", " ")


def test_a_speed_above_the_ceiling_is_called_impossible(result: Result) -> None:
    fine, wrong = (
        sentences.memory_limit(like(result, speed, 273e9), KNOWN, t) for speed in (34.33, 900)
    )
    assert "cannot be" in wrong
    assert "cannot be" not in fine


def test_nothing_is_said_of_a_machine_whose_bandwidth_is_unknown(result: Result) -> None:
    assert sentences.memory_limit(like(result, 34.33, None), KNOWN, t) == ""
    assert sentences.memory_limit(result, KNOWN, t) == ""


def with_repeats(result: Result, speeds: list[float]) -> Result:
    level = next(one for one in result.levels if one.kind == "sweep")
    levels = tuple(
        msgspec.structs.replace(level, repeat=n, decode_speed=Mean(n=5, mean=speed))
        for n, speed in enumerate(speeds, 1)
    )
    return msgspec.structs.replace(result, levels=levels)


def test_repeats_are_told_with_their_spread(result: Result) -> None:
    (said,) = sentences.repeated(with_repeats(result, [50.0, 51.0, 50.5]), t)
    assert "3 repeats" in said
    assert "2 %" in said


def test_two_states_are_told_as_two_and_never_averaged(result: Result) -> None:
    (said,) = sentences.repeated(with_repeats(result, [63.0, 94.0, 63.5, 93.0, 62.5, 94.5]), t)
    assert "63.0" in said
    assert "93.8" in said
    assert "78" not in said


def test_one_repeat_says_nothing_of_a_spread(result: Result) -> None:
    assert sentences.repeated(result, t) == []

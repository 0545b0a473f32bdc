"""What the memory allows, and numbers that cannot be."""

from __future__ import annotations

import pytest

from bench.catalogue import Artifact, Model
from bench.machine.host import GB10_BANDWIDTH
from bench.numbers.physics import active_bytes, assess, energy_per_token, sentence
from bench.text import words

ARTIFACT = Artifact(
    id="mxfp4", format="safetensors", quantization="MXFP4", path="x", size_bytes=65_000_000_000
)
MODEL = Model(
    id="m", name="M", family="f", licence="l", source="s", artifacts=(ARTIFACT,),
    parameters=117_000_000_000, active_parameters=5_100_000_000,
)  # fmt: skip
WEIGHTS = 65e9 * 5.1 / 117


def on_a_spark(speed, **more):
    return assess(speed, bandwidth=GB10_BANDWIDTH, weights=WEIGHTS, **more)


def test_the_ceiling_is_bandwidth_over_the_bytes_that_each_token_needs():
    assert active_bytes(MODEL, ARTIFACT) == pytest.approx(WEIGHTS)
    found = on_a_spark(58.59)
    assert found.ceiling == pytest.approx(273e9 / WEIGHTS)
    assert found.share == pytest.approx(0.608, abs=0.001)
    assert found.kind == "fine"


def test_the_cache_lowers_the_ceiling():
    assert on_a_spark(50, cache=WEIGHTS).ceiling == pytest.approx(273e9 / WEIGHTS / 2)


@pytest.mark.parametrize(
    ("share", "tokens_per_chunk", "kind"),
    [
        (0.24, None, "low"),
        (0.25, None, "fine"),
        (1.0, None, "fine"),
        (1.09, 1.0, "fine"),  # the bytes are an estimate
        (1.11, 1.0, "impossible"),
        (1.11, None, "impossible"),
        (1.8, 3.2, "guessing"),
        (0.5, 3.2, "fine"),
    ],
)
def test_above_the_ceiling_is_impossible_and_far_below_asks_for_the_gpu(
    share, tokens_per_chunk, kind
):
    found = on_a_spark(share * 273e9 / WEIGHTS, tokens_per_chunk=tokens_per_chunk)
    assert found.kind == kind
    for language in ("en", "zh-TW"):
        assert f"{round(100 * share)}" in sentence(found, words(language))


def test_a_dense_72b_model_cannot_write_119_tokens_a_second():
    found = assess(119.0, bandwidth=GB10_BANDWIDTH, weights=72e9 / 2)
    assert found.kind == "impossible"
    assert found.ceiling == pytest.approx(7.58, abs=0.01)


@pytest.mark.parametrize("missing", ["speed", "bandwidth", "weights"])
def test_what_is_not_known_gives_no_ceiling(missing):
    known = {"speed": 50.0, "bandwidth": 273e9, "weights": WEIGHTS, missing: None}
    speed = known.pop("speed")
    assert assess(speed, **known) is None


def test_a_model_of_unknown_size_has_no_active_bytes():
    bare = Artifact(id="a", format="gguf", quantization="Q4", path="x")
    assert active_bytes(MODEL, bare) is None
    assert active_bytes(MODEL, bare, size=65_000_000_000) == pytest.approx(WEIGHTS)


def test_energy_is_power_over_throughput():
    assert energy_per_token(60.0, 30.0) == 2.0
    assert energy_per_token(None, 30.0) is None
    assert energy_per_token(60.0, None) is None

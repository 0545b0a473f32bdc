"""One source for every metric: interface, documentation and mapping agree."""

from __future__ import annotations

import re
import tomllib

import msgspec
import pytest

from bench.catalogue import Figure
from bench.numbers import contest, metrics, stats, sweetspot
from bench.numbers import definitions as defined
from bench.numbers.definitions import DOCUMENT, TOOLS, definitions, document, same
from bench.summary import LevelSummary
from bench.text import FOLDER, LANGUAGES, words

KEYS = list(definitions())


def test_the_documentation_says_what_the_definitions_say():
    """Run ``python -m bench.numbers.definitions`` when this fails."""
    text = DOCUMENT.read_text(encoding="utf-8")
    assert document(text) == text
    for key in KEYS:
        assert defined.sentence(key, words("en")) in text
        assert defined.sentence(key, words("zh-TW")) in text
        assert definitions()[key].formula in text


def test_a_changed_definition_is_seen_in_the_documentation(monkeypatch):
    changed = msgspec.structs.replace(definitions()["ttft"], formula="something else")
    monkeypatch.setattr(defined, "definitions", lambda: {**definitions(), "ttft": changed})
    text = DOCUMENT.read_text(encoding="utf-8")
    assert document(text) != text


@pytest.mark.parametrize("key", KEYS)
def test_every_metric_has_a_name_and_one_plain_sentence_in_both_languages(key):
    for language in LANGUAGES:
        t = words(language)
        assert defined.name(key, t)
        sentence = defined.sentence(key, t)
        assert sentence.endswith("。" if language == "zh-TW" else ".")
        assert "\n" not in sentence


def test_no_sentence_is_left_of_a_metric_that_is_gone():
    table = tomllib.loads((FOLDER / "metrics.toml").read_text(encoding="utf-8"))
    assert set(table["metrics"]) == set(table["definitions"]) == set(KEYS)


def test_every_number_of_a_level_has_a_definition():
    numbers = {
        name
        for name, kind in LevelSummary.__annotations__.items()
        if re.search(r"Quantiles|Mean|float", str(kind))
    }
    elsewhere = {"duration", "prompt_tokens", "output_tokens", "long_share", "tpot_if_even"}
    assert numbers - elsewhere <= set(KEYS)


def test_every_published_figure_has_a_definition():
    table = tomllib.loads((defined.ROOT / "data" / "published.toml").read_text(encoding="utf-8"))
    figures = msgspec.convert(
        [figure for entry in table.values() for figure in entry["figures"]], list[Figure]
    )
    assert {figure.metric for figure in figures} <= set(KEYS)


def test_equal_names_are_not_taken_for_equal_numbers():
    assert same("tpot", "vllm-bench")
    assert definitions()["tpot"].tools["guidellm"].name == "inter_token_latency_ms"
    assert same("ttft", "aiperf") and not same("ttft", "vllm-bench")
    assert not same("throughput", "llama-benchy")
    assert same("throughput_all", "vllm-bench") and not same("throughput", "vllm-bench")
    assert all(not same(key, "llama-bench") for key in KEYS)
    assert all(same(key, "ours") for key in KEYS)


def test_every_tool_is_spoken_of_for_every_metric():
    assert all(set(one.tools) == set(TOOLS) for one in definitions().values())


def test_the_document_names_the_rules_that_the_code_follows():
    text = re.sub(r"\s+", " ", DOCUMENT.read_text(encoding="utf-8"))
    usual = sweetspot.USUAL
    for rule in (
        f"≥ {usual.speed:.0f} tokens a second",
        f"≤ {usual.wait:.0f} s",
        f"at least {usual.success:.0%} of".replace("%", " %"),
        f"beyond {contest.NOISE:.0f} % where",
        f"beyond {contest.NOISE_OF_REPEATS:.0f} % with",
        f"at least {stats.APART:.0%} of".replace("%", " %"),
        f"more than {metrics.PROMPT:.0%} is".replace("%", " %"),
        f"by more than {metrics.SHORT:.0%} are".replace("%", " %"),
        f"marked above {metrics.CACHED:.0%};".replace("%", " %"),
        "36 values for P90, 72 for P95, 368 for P99",
    ):
        assert rule in text, rule

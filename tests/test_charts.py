"""Charts: what is drawn, in which colours, and what is said to those who can't see them."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import combinations
from typing import Any

import msgspec
import pytest

from bench import charts, results
from bench.catalogue import Catalogue
from bench.charts.marks import Limits
from bench.config import ROOT
from bench.numbers.metrics import summarise
from bench.results import COLOURS, Result
from bench.summary import LevelSummary
from bench.text import LANGUAGES, Words, words
from tests import examples

T = words("en")
LIGHT, DARK = "#fdfcf9", "#12191b"


def sweep(people: int, *, slots: int = 4, speed: float = 90) -> LevelSummary:
    return summarise(
        examples.level("x", people, speed=speed), kind="sweep", name=f"c{people}", slots=slots
    )


def result(name: str = "A", model: str = "a", colour: str = COLOURS[0], **more: Any) -> Result:
    levels = more.pop("levels", tuple(sweep(people) for people in (1, 2, 4, 8)))
    return Result(
        id=name,
        model=model,
        model_name=name,
        engine="e",
        engine_name="E",
        label=name,
        colour=colour,
        levels=levels,
        **more,
    )


def spec(figure: charts.Figure | None) -> dict[str, Any]:
    assert figure is not None
    return dict(figure.chart.to_dict())


def marks(figure: charts.Figure | None) -> list[str]:
    """The marks of a chart, layers within layers included."""

    def found(part: dict[str, Any]) -> list[str]:
        inner = [mark for layer in part.get("layer", []) for mark in found(layer)]
        return [part["mark"]["type"], *inner] if "mark" in part else inner

    return found(spec(figure))


def test_a_result_without_levels_draws_nothing() -> None:
    empty = [result(levels=())]
    assert charts.throughput(empty, T) is None
    assert charts.prompt_set(empty, "prefill", T) is None
    assert charts.of_run(empty[0], T) == {}


def test_the_queueing_zone_begins_at_the_engines_slots() -> None:
    assert "rect" in marks(charts.throughput([result()], T))
    zone = json.dumps(spec(charts.throughput([result()], T)))
    assert '{"from": 4, "to": 8' in zone


def test_without_levels_above_the_slots_there_is_no_queueing_zone() -> None:
    calm = result(levels=(sweep(1), sweep(2), sweep(4)))
    assert "rect" not in marks(charts.throughput([calm], T))


def test_levels_that_queue_are_told_apart_in_the_rows() -> None:
    figure = charts.throughput([result()], T)
    assert figure
    assert [row["queueing"] for row in figure.rows] == [False, False, False, True]


def test_the_worst_of_few_requests_is_not_drawn_as_a_p99() -> None:
    figure = charts.first_word([result()], T)
    assert figure
    assert {row["exact"] for row in figure.rows} == {False}
    assert {row["n"] for row in figure.rows} == {24}


def test_published_figures_are_drawn_without_an_interval(known: Catalogue) -> None:
    published = results.of_published(known.published["ironman-2026-day9-vllm"], known, T)
    figure = charts.speed([published], T)
    assert figure
    assert [(row["people"], row["value"]) for row in figure.rows] == [
        (1, 34.33),
        (8, 11.78),
        (16, 7.06),
    ]
    assert all(row["low"] == row["value"] == row["high"] for row in figure.rows)
    assert "published" in published.label


def test_published_speeds_of_many_are_no_bars_of_one_person_alone(known: Catalogue) -> None:
    published = results.of_published(known.published["ironman-2026-day9-vllm"], known, T)
    assert [bar.test for bar in results.bars(published, "decode")] == ["tg"]
    assert [bar.value for bar in results.bars(published, "prefill")] == [4092.79, 3547.65]


def test_a_model_has_the_same_colour_whatever_is_beside_it(known: Catalogue) -> None:
    colour = results.colour("qwen3.8-27b", known)
    one = charts.throughput([result("Q", "q", colour)], T)
    two = charts.throughput([result("A"), result("Q", "q", colour)], T)
    assert colour in json.dumps(spec(one)) and colour in json.dumps(spec(two))


def test_two_results_of_one_model_differ_in_mark_and_line() -> None:
    drawn = json.dumps(spec(charts.throughput([result("A"), result("B")], T)))
    assert '"range": ["circle", "square"]' in drawn
    assert '"range": [[1, 0], [7, 3]]' in drawn


@pytest.mark.parametrize("ground", [LIGHT, DARK])
def test_every_colour_is_readable_on_light_and_dark_ground(ground: str) -> None:
    for colour in (*COLOURS, charts.MUTED, charts.FAILED):
        assert contrast(colour, ground) >= 3, colour


@pytest.mark.parametrize("blindness", ["none", "protan", "deutan"])
def test_the_first_colours_stay_apart_for_colour_blind_eyes(blindness: str) -> None:
    for one, other in combinations(COLOURS[:4], 2):
        assert distance(seen(one, blindness), seen(other, blindness)) > 35, (one, other)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_figure_is_said_in_words(language: str) -> None:
    t = words(language)
    for figure in charts.of_comparison([result("A"), result("B")], t):
        assert figure
        assert figure.spoken.startswith(t(f"charts.{figure.name}.title"))
        assert len(figure.spoken) > 40 and len(figure.spoken) < 2000


def test_requests_that_failed_are_drawn_as_failed() -> None:
    level = examples.level("x", 4)
    bad = msgspec.structs.replace(level.samples[3], error="HTTP 500", error_kind="http")
    figure = charts.requests([*level.samples[:3], bad, *level.samples[4:]], result(), T)
    assert figure
    failed = [row for row in figure.rows if row["phase"] == T("charts.phase.failed")]
    assert {row["request"] for row in failed} == {4}


def test_a_request_without_any_answer_is_no_bar_of_length_nought() -> None:
    level = examples.level("x", 1)
    lost = msgspec.structs.replace(level.samples[0], first_token=None, end=None, error="refused")
    assert charts.requests([lost], result(), T) is None


def test_a_name_cannot_break_out_of_a_chart() -> None:
    name = "a'\"]</script>\\"
    figure = charts.throughput([result(name), result("B")], T)
    assert name in [row["result"] for row in figure.rows]  # type: ignore[union-attr]
    assert json.loads(json.dumps(spec(figure)))


def test_drawing_needs_neither_streamlit_nor_a_database() -> None:
    code = (
        "import sys, bench.charts, bench.export.table;"
        "print([m for m in ('streamlit', 'sqlite3', 'httpx') if m in sys.modules])"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert out.stdout.strip() == "[]", out.stderr


# Colour, as the eye sees it ----------------------------------------------------------------------


def linear(colour: str) -> list[float]:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    return [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]


def contrast(one: str, other: str) -> float:
    """WCAG 2 contrast ratio."""
    lights = sorted(
        sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear(c), strict=True))
        for c in (one, other)
    )
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def seen(colour: str, blindness: str) -> list[float]:
    """CIE Lab of a colour as a dichromat sees it (the linear model of Viénot, Brettel, Mollon)."""
    red, green, blue = linear(colour)
    if blindness == "protan":
        red = green = 0.11238 * red + 0.88762 * green
        blue = 0.00401 * linear(colour)[0] - 0.00401 * linear(colour)[1] + blue
    if blindness == "deutan":
        red = green = 0.29275 * red + 0.70725 * green
        blue = -0.02234 * linear(colour)[0] + 0.02234 * linear(colour)[1] + blue
    x = (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.9505
    y = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    z = (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.089
    fx, fy, fz = (v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116 for v in (x, y, z))
    return [116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)]


def distance(one: list[float], other: list[float]) -> float:
    return float(sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) ** 0.5)


def test_words_of_charts_are_there_in_both_languages() -> None:
    for language in LANGUAGES:
        t: Words = words(language)
        for name in ("throughput", "speed", "first-word", "prefill", "decode", "requests"):
            assert t(f"charts.{name}.title")


def test_each_number_of_people_is_a_point_between_one_persons_speed_and_all_together() -> None:
    drawn = charts.pareto([result()], T)
    assert drawn is not None
    assert [row["people"] for row in drawn.rows] == [1, 2, 4, 8]
    one = drawn.rows[0]
    levels = result().levels
    assert one["value"] == levels[0].throughput
    assert levels[0].decode_speed and one["speed"] == levels[0].decode_speed.mean


def test_the_usual_wait_is_drawn_thin_below_the_longest() -> None:
    drawn = spec(charts.first_word([result()], T))
    (thin,) = (part for part in _parts(drawn) if part["mark"].get("strokeWidth") == 1.2)
    rows = drawn["datasets"][thin["data"]["name"]]
    assert [row["value"] for row in rows] == [level.ttft.p50 for level in result().levels]


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_an_axis_is_even_or_in_powers_of_ten(scale: charts.Scale) -> None:
    for make in (charts.speed, charts.throughput, charts.first_word, charts.pareto):
        told = json.dumps(spec(make([result()], T, scale)))
        assert ('"zero": true' in told) is (scale == "linear")
    rows = json.dumps(spec(charts.speed([result()], T, "log")))
    assert '"low": -' not in rows and '"low": 0.0,' not in rows


def test_the_memorys_limit_is_drawn_where_it_is_known() -> None:
    alone = summarise(examples.level("x", 1, speed=90), kind="decode", name="tg64")
    one = [result(levels=(alone,))]
    assert "tick" not in marks(charts.prompt_set(one, "decode", T))
    drawn = charts.prompt_set(one, "decode", T, Limits(ceilings={"A": 250.0}))
    assert drawn and "tick" in marks(drawn) and drawn.rows[0]["ceiling"] == 250.0


def test_the_reading_line_speaks_of_characters_where_chinese_was_written() -> None:
    tokens = json.dumps(spec(charts.speed([result()], T)))
    assert "characters" not in tokens
    both = charts.speed([result()], T, limits=Limits(reading=(13.2, 16.8)))
    assert "about 13 to 17 characters/s" in json.dumps(spec(both))
    one = charts.speed([result()], T, limits=Limits(reading=(15.0, 15.2)))
    assert "about 15 characters/s" in json.dumps(spec(one))


def test_the_machine_is_drawn_as_far_as_it_told() -> None:
    gib = 1024**3
    rows = [
        (2.0 * i, {"machine": {"available": (100 - i) * gib, "gpu": {"power": 40.0 + i}}})
        for i in range(1000)
    ]
    memory, power = charts.machine(rows, result(), T)
    assert (memory.name, power.name) == ("free-memory", "power")
    assert len(memory.rows) <= 300
    assert memory.rows[0] == {"minutes": 0.0, "value": 100.0}
    assert charts.machine([(0.0, {"machine": {"gpu": {"power": None}}})], result(), T) == []


def _parts(part: dict[str, Any], data: Any = None) -> list[dict[str, Any]]:
    """The marks of a chart, each with the data that it draws."""
    data = part.get("data", data)
    inner = [mark for layer in part.get("layer", []) for mark in _parts(layer, data)]
    return [{**part, "data": data}, *inner] if "mark" in part else inner

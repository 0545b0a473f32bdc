"""Tables of results and of one run: rows of heading → value, for a page and for a file."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from bench.imports import mark
from bench.layout import plain
from bench.numbers.baseline import Against, Change
from bench.numbers.differences import differences
from bench.results import Result, bars, points
from bench.shown import characters
from bench.shown.views import load_seconds, number, when
from bench.store import Event, Run
from bench.text import Words


def overview(results: Sequence[Result], t: Words) -> list[dict[str, str | None]]:
    """One row a quantity, one column a result: for reading."""
    rows: list[dict[str, str | None]] = []
    cells: dict[str, str | None]
    for kind in ("prefill", "decode"):
        tests = dict.fromkeys(bar.test for result in results for bar in bars(result, kind))
        for test in tests:
            cells = {result.label: _bar_cell(result, kind, test) for result in results}
            rows.append({t("table.quantity"): t(f"table.{kind}", test=test), **cells})
    for metric in ("decode_speed", "ttft_p50", "ttft_p99", "throughput", "energy_per_token"):
        levels = sorted({p.concurrency for result in results for p in points(result, metric)})
        for people in levels:
            cells = {result.label: _point_cell(result, metric, people, t) for result in results}
            rows.append({t("table.quantity"): t(f"table.{metric}", people=people), **cells})
    for quantity in ("per_second", "per_token"):
        written = {result.label: _written(result, quantity) for result in results}
        if any(written.values()):
            rows.append({t("table.quantity"): t(f"table.characters_{quantity}"), **written})
    loads = {result.label: load_seconds(result) for result in results}
    if any(value is not None for value in loads.values()):
        cells = {name: None if v is None else number(v) for name, v in loads.items()}
        rows.append({t("table.quantity"): t("table.load_seconds"), **cells})
    return rows


def _written(result: Result, quantity: str) -> str | None:
    found = characters.of(result)
    value = getattr(found, quantity) if found else None
    return None if value is None else number(value)


def against(found: Sequence[Against], t: Words) -> list[dict[str, str | None]]:
    """One row a test, one column a result: its difference from the baseline."""
    names = dict.fromkeys((one.topic, one.test) for other in found for one in other.changes)
    rows: list[dict[str, str | None]] = []
    for topic, test in names:
        people = "".join(filter(str.isdigit, test))
        row: dict[str, str | None] = {
            t("table.quantity"): t(f"against.{topic}", test=test, people=people)
        }
        for other in found:
            same = (one for one in other.changes if (one.topic, one.test) == (topic, test))
            change = next(same, None)
            row[other.label] = _change(change, t) if change else None
        rows.append(row)
    return rows


def _change(change: Change, t: Words) -> str:
    if change.percent is None:
        return t(f"against.{'unsteady' if change.outcome == 'unsteady' else 'same'}")
    percent = _signed(change.percent)
    if change.interval is None:
        return t("against.percent", percent=percent)
    low, high = _signed(change.interval.low), _signed(change.interval.high)
    return t("against.within", percent=percent, low=low, high=high)


def _signed(percent: float) -> str:
    """With a true minus, which is as wide as the plus."""
    figures = f"{abs(percent):.1f}" if abs(percent) < 10 else f"{abs(percent):,.0f}"
    return ("−" if percent < 0 else "+") + figures


def differing(runs: Sequence[Run], names: Sequence[str], t: Words) -> list[dict[str, str | None]]:
    """The settings that differ between runs, one row a setting, one column a run."""
    found = differences(*(_compared(run) for run in runs))
    rows: list[dict[str, str | None]] = []
    for one in found:
        key = f"differ.{one.key}"
        row: dict[str, str | None] = {t("differ.setting"): t(key) if key in t else one.key}
        rows.append(row | dict(zip(names, one.values, strict=True)))
    return rows


def _compared(run: Run) -> dict[str, Any]:
    """What of a run may explain a difference: the model, how it was started, asked and where."""
    plan, facts = run.plan, run.facts
    recipe = msgspec.to_builtins(plan.recipe)
    work = msgspec.to_builtins(plan.workload)
    left_out = ("model", "path", "source", "key_env", "url", "env", "mounts")
    return {
        "model": run.model_name,
        "artifact": run.artifact,
        "engine": run.engine,
        "engine_version": facts.get("engine_version"),
        "image_digest": facts.get("image_digest"),
        "host": run.host,
        "machine": facts.get("host"),
        "recipe": {name: value for name, value in recipe.items() if name not in left_out},
        "workload": {name: value for name, value in work.items() if name != "name"},
    }


def _bar_cell(result: Result, kind: str, test: str) -> str | None:
    for bar in bars(result, kind):
        if bar.test == test:
            return number(bar.value) + (f" ± {number(bar.sd)}" if bar.sd is not None else "")
    return None


def _point_cell(result: Result, metric: str, people: int, t: Words) -> str | None:
    for point in points(result, metric):
        if point.concurrency == people:
            value = number(point.value)
            if point.exact:
                return value
            return t("table.worst", value=value, n=point.n or 0)
    return None


def measurements(results: Sequence[Result], t: Words) -> list[dict[str, Any]]:
    """One row a measured value, with plain numbers: for a spreadsheet."""
    rows: list[dict[str, Any]] = []
    for result in results:
        source = "published" if result.published else "imported" if result.mark else "measured"
        shared = {"result": result.label, "id": result.id, "source": source}
        for kind in ("prefill", "decode"):
            rows += [
                shared
                | {"metric": f"{kind}_speed", "unit": "tokens/s", "test": bar.test, "people": 1}
                | {"value": bar.value, "sd": bar.sd, "low": None, "high": None, "n": bar.n}
                for bar in bars(result, kind)
            ]
        for metric, unit in (
            ("decode_speed", "tokens/s"),
            ("ttft_p50", "s"),
            ("ttft_p99", "s"),
            ("throughput", "tokens/s"),
            ("energy_per_token", "J"),
        ):
            rows += [
                shared
                | {
                    "metric": metric if point.exact else "ttft_worst",
                    "unit": unit,
                    "test": f"c{point.concurrency}",
                    "people": point.concurrency,
                }
                | {"value": point.value, "sd": None, "low": point.low, "high": point.high}
                | {"n": point.n}
                for point in points(result, metric)
            ]
    return rows


def timeline(events: Sequence[Event], t: Words, timezone: str | None) -> list[dict[str, str]]:
    """What happened when, for reading; progress within a stage is left out."""
    rows: list[dict[str, str]] = []
    for event in events:
        if what := _happened(event, t):
            time = when(event.at, timezone, seconds=True)
            if not rows or rows[-1][t("run.what")] != what:
                rows.append({t("run.when"): time, t("run.what"): what})
    return rows


def _happened(event: Event, t: Words) -> str:
    data = event.data
    match event.kind:
        case "state":
            return t(f"states.{data['state']}")
        case "stage":
            key = f"stages.{data.get('stage')}"
            return t(key) if key in t else str(data.get("stage", ""))
        case "level_done":
            fields = {name: data.get(name, 0) for name in ("ok", "failed")}
            return t("run.level_done", name=str(data.get("name", "")), **fields)
        case "note":
            key = f"notes.{data.get('code')}"
            fields = {name: value for name, value in data.items() if name != "code"}
            return t(key, **fields) if key in t else str(data.get("code", ""))
        case _:
            return ""


def command(run: Run) -> str:
    """How the engine of a run was launched, as a person would type it; empty while unknown."""
    known, argv = run.facts.get("command"), run.facts.get("argv")
    return str(known) if known else shlex.join(map(str, argv)) if argv else ""


def no_command(run: Run) -> str:
    """The key of the sentence that says why a command is not known."""
    return "imports.command_none" if mark.read(run) else "run.command_none"


def settings(run: Run, t: Words) -> list[dict[str, str]]:
    """What a reader needs to repeat the run, beside its command."""
    plan, facts = run.plan, run.facts
    known: dict[str, Any] = {
        "engine_version": facts.get("engine_version"),
        "image": facts.get("image") or plan.recipe.image,
        "image_digest": facts.get("image_digest"),
        "artifact": run.artifact,
        "context": facts.get("context") or plan.recipe.context or None,
        "slots": facts.get("slots") or plan.recipe.slots or None,
        "tokenizer": _tokenizer(facts.get("tokenizer"), t),
        "workload": run.workload,
        "seed": plan.seed or None,
        "source": plan.recipe.source or None,
    }
    rows = [
        {t("run.settings"): t(f"run.setting.{name}"), t("run.value"): str(value)}
        for name, value in known.items()
        if value is not None
    ]
    found = mark.read(run)
    told = found.told if found else {}
    return rows + [{t("run.settings"): name, t("run.value"): told[name]} for name in told]


def _tokenizer(kind: Any, t: Words) -> Any:
    key = f"run.tokenizer.{kind}"
    return t(key) if key in t else kind


def escaped(rows: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    """Rows for a table whose cells are read as Markdown, to be shown as they are."""
    return [{plain(name): plain(cell) for name, cell in row.items()} for row in rows]

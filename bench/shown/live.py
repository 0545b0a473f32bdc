"""What a run is doing at this moment, as a sentence and a share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from bench.running.progress import Progress
from bench.shown.views import duration
from bench.store import LIVE, Event, Run
from bench.text import Words


class Now(msgspec.Struct, frozen=True, kw_only=True):
    sentence: str
    share: float | None
    """0 to 1 of the whole state, None where nothing can be said."""
    detail: str = ""


def now(run: Run, events: Sequence[Event], progress: Progress | None, before: int, t: Words) -> Now:
    """``before`` is how many runs have to end before a queued one starts."""
    if run.cancel:
        return Now(sentence=t("live.cancelling"), share=None)
    match run.state:
        case "queued":
            key = {0: "live.queued_next", 1: "live.queued_one"}.get(before, "live.queued")
            return Now(sentence=t(key, n=before), share=None)
        case "preparing" if (fetching := _latest(events, "stage")) is not None:
            return _loading(fetching, t)
        case "loading":
            return _loading(_latest(events, "stage"), t)
        case "measuring":
            return _measuring(events, progress, t)
        case _:
            key = f"live.{run.state}" if run.live else f"states.{run.state}"
            return Now(sentence=t(key), share=None)


def before(run: Run, runs: Sequence[Run]) -> int:
    """Live runs that were there before this one. ``runs`` as the store gives them, newest first."""
    ids = [other.id for other in runs]
    older = runs[ids.index(run.id) + 1 :] if run.id in ids else ()
    return sum(other.state in LIVE for other in older)


def _loading(stage: Mapping[str, Any] | None, t: Words) -> Now:
    if stage is None:
        return Now(sentence=t("live.loading"), share=None)
    key = f"stages.{stage.get('stage')}"
    name = t(key) if key in t else str(stage.get("stage", ""))
    sentence = t("live.stage", stage=name)
    if (rest := stage.get("eta_s")) is not None:
        sentence = t("live.stage_rest", stage=name, rest=duration(rest, t))
    layers = stage.get("text") or "" if stage.get("stage") == "image" else ""  # else a line of log
    return Now(sentence=sentence, share=_within(stage.get("share")), detail=layers)


def _measuring(events: Sequence[Event], progress: Progress | None, t: Words) -> Now:
    last = next((e for e in reversed(events) if e.kind in ("level", "answer")), None)
    if last is None:
        return Now(sentence=t("live.measuring"), share=None)
    position, of = last.data.get("position", 0), last.data.get("of", 0)
    detail = t("live.part", position=position, of=of)
    if last.kind == "answer":
        share = _within((position - 1) / of if of else None)
        return Now(sentence=t("live.answers"), share=share, detail=detail)
    key = "live.people" if last.data.get("kind") == "sweep" else "live.prompt_set"
    sentence = t(key, people=last.data.get("concurrency", 1), name=last.data.get("name", ""))
    done = progress.done / progress.planned if progress and progress.planned else 0.0
    if progress:
        fields = {"done": progress.done, "planned": progress.planned, "failed": progress.failed}
        detail += " " + t("live.requests_failed" if progress.failed else "live.requests", **fields)
    share = _within((position - 1 + done) / of if of else None)
    return Now(sentence=sentence, share=share, detail=detail)


def _latest(events: Sequence[Event], kind: str) -> Mapping[str, Any] | None:
    return next((event.data for event in reversed(events) if event.kind == kind), None)


def _within(share: float | None) -> float | None:
    return None if share is None else min(max(share, 0.0), 1.0)

"""Runs of models that do not exist, with answers to the twelve short Taiwan prompts written by us.

``python -m tests.chinese_examples FOLDER`` adds them to ``FOLDER/bench.db``.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

from msgspec.structs import replace
from sqlite_utils import Database

from bench import catalogue, store
from bench.catalogue import Prompt
from bench.sample import Sample
from bench.store import Answer
from tests import examples

DATA = Path(__file__).parent / "data" / "chinese"
SHORT = tuple(
    one for one in catalogue.load().prompts.values() if one.set == "zh-tw-1" and one.short
)
NAMES = {"good": "Example A", "fair": "Example B", "poor": "Example C"}


def texts(quality: str) -> dict[str, str]:
    """The answers of one quality by prompt id: ``good``, ``fair`` or ``poor``."""
    if quality == "good":
        written = tomllib.loads((DATA / "answers.toml").read_text(encoding="utf-8"))["good"]
        return {one["prompt"]: one["text"] for one in reversed(written)}
    models = tomllib.loads((DATA / "models.toml").read_text(encoding="utf-8"))
    return dict(models[quality])


def run(
    db: Database,
    quality: str,
    answers: dict[str, str] | None = None,
    prompts: tuple[Prompt, ...] = SHORT,
    **sample: object,
) -> str:
    """A finished run whose answers are of a quality, or the given ones by prompt id."""
    answers = texts(quality) if answers is None else answers
    name = NAMES.get(quality, quality)
    plan = replace(examples.plan(f"example-{quality}", name), prompts=prompts)
    made = store.submit(db, replace(plan, title=f"{name} (test data)"))
    examples.launched(db, made, 3.0)
    store.enter(db, made, "measuring")
    speed = {"good": 22.0, "fair": 41.0}.get(quality, 77.0)
    for prompt in prompts:
        if prompt.id in answers:
            one = told(made, prompt.id, answers[prompt.id], speed)
            save(db, made, prompt, replace(one, **sample))
    store.enter(db, made, "done")
    return made


def save(db: Database, run: str, prompt: Prompt, sample: Sample, repeat: int = 1) -> None:
    answer = Answer(
        prompt=prompt.id, repeat=repeat, language=prompt.language, question=prompt.text,
        sample=sample,
    )  # fmt: skip
    store.save_answer(db, run, answer)


def told(run: str, prompt: str, text: str, speed: float = 30.0) -> Sample:
    """A request that brought this text, at ``speed`` characters a second."""
    last = 0.4 + len(text) / speed
    return Sample(
        id=f"{run}-{prompt}", sent=0.0, first_event=0.4, first_token=0.4, first_answer=0.4,
        last_token=last, end=last, chunks=max(len(text), 1), output_tokens=len(text),
        count_source="usage", finish="stop", text=text, status=200,
    )  # fmt: skip


if __name__ == "__main__":
    with store.opened(Path(sys.argv[1]) / "bench.db") as opened:
        print({quality: run(opened, quality) for quality in NAMES})

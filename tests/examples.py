"""A store filled with plausible runs, for tests of the pages and for looking at them.

``python -m tests.examples FOLDER`` makes ``FOLDER/bench.db``. Requests are played in virtual time
by a small model of an engine: reading is shared by all, writing slows down with each user, and a
request beyond the engine's slots waits for one to end.
"""

from __future__ import annotations

import heapq
import random
import sys
from pathlib import Path
from typing import Any

import msgspec
from sqlite_utils import Database

from bench import store
from bench.catalogue import Prompt, Workload
from bench.errors import Fault
from bench.numbers.metrics import summarise
from bench.plan import Plan
from bench.sample import LevelRun, MeterHealth, Sample
from bench.store import Answer
from engines import Recipe

WORKLOAD = Workload(
    id="demo-1",
    name={"en": "Demo", "zh-TW": "示範"},
    prefill=(128, 512),
    decode=64,
    warmups=1,
    measured=3,
    answers=("zh-explain", "zh-letter", "en-explain"),
    answer_tokens=96,
    levels=(1, 2, 4, 8),
    prompt_tokens=128,
    output_tokens=48,
    requests=24,
)
PROMPTS = (
    Prompt(
        id="zh-explain",
        language="zh-TW",
        kind="explain",
        text="請用三句話，向沒有技術背景的同事說明什麼是快取，並舉一個生活中的例子。",
    ),
    Prompt(
        id="zh-letter",
        language="zh-TW",
        kind="letter",
        text="請以客服人員的身分，寫一封簡短的電子郵件，告訴王小姐她訂購的印表機要延後一週到貨。",
    ),
    Prompt(
        id="en-explain",
        language="en",
        kind="explain",
        text="Explain in three sentences what a cache is, for a colleague without a technical "
        "background.",
    ),
)
GOOD = {
    "zh-explain": "快取就像把常用的東西放在手邊。例如便利商店把熱門飲料放在門口的冰箱，"
    "客人不必等店員到倉庫拿。電腦把常用的資料留在記憶體裡，下次就能更快取得。",
    "zh-letter": "王小姐您好：\n\n您訂購的印表機因缺貨，預計延後一週到貨。若您希望退款，"
    "請直接回覆這封信，我們會在三個工作天內處理。造成不便，敬請見諒。\n\n客服中心 敬上",
    "en-explain": "A cache keeps things you use often close at hand. Like a shop that puts its "
    "best-selling drinks by the door, a computer keeps recent data in fast memory.",
}
POOR = {
    "zh-explain": "缓存是一种软件技术, 它把数据放在内存里. 比如服务器会把用户的信息保存下来,"
    " 默认下次就不用再去网络上读取。",
    "zh-letter": "王小姐你好,你的打印机要晚一周才到. 如果要退款请联系我们。",
    "en-explain": "Cache is when computer remember thing. <b>It is fast</b> and cost $5 or $10.",
}


def plan(model: str, name: str, **changes: Any) -> Plan:
    """A plan of the demo workload on llama.cpp as a local program."""
    made = Plan(
        title=f"{name} · llama.cpp",
        model=model,
        model_name=name,
        artifact="gguf-q4",
        engine="llama.cpp-local",
        recipe=Recipe(
            engine="llama.cpp-local",
            model=model,
            path=f"/models/{model}.gguf",
            context=1024,
            slots=4,
            flags={"parallel": 4, "ctx-size": 4096},
        ),
        workload=WORKLOAD,
        prompts=PROMPTS,
        seed=7,
    )
    return msgspec.structs.replace(made, **changes)


def level(
    seed: str, concurrency: int, *, slots: int = 4, speed: float = 90.0, reading: float = 2400.0
) -> LevelRun:
    """``WORKLOAD.requests`` requests in a closed loop of ``concurrency`` users."""
    chance = random.Random(f"{seed}{concurrency}")
    free = [0.0] * min(concurrency, slots)
    waiting = [0.0] * concurrency
    samples = []
    for number in range(WORKLOAD.requests):
        sent, start = heapq.heappop(waiting), heapq.heappop(free)
        busy = min(concurrency, slots)
        gap = (1 / speed) * (1 + 0.35 * (busy - 1))
        gaps = tuple(gap * chance.uniform(0.85, 1.2) for _ in range(WORKLOAD.output_tokens - 1))
        first = max(start - sent, 0) + WORKLOAD.prompt_tokens / reading * busy
        first *= chance.uniform(0.95, 1.12)
        last = first + sum(gaps)
        heapq.heappush(waiting, sent + last + 0.002)
        heapq.heappush(free, sent + last)
        samples.append(_sample(f"{seed}-{number}", sent, first, gaps, last))
    return LevelRun(
        concurrency=concurrency,
        samples=tuple(samples),
        duration=max(sample.sent + (sample.end or 0) for sample in samples),
        peak_concurrency=concurrency,
        meter=MeterHealth(loop_lag_p99=0.001, loop_lag_max=0.004, cpu_share=0.08, busy=False),
    )


def _sample(name: str, sent: float, first: float, gaps: tuple[float, ...], last: float) -> Sample:
    return Sample(
        id=name,
        sent=sent,
        first_event=first * 0.98,
        first_token=first,
        first_answer=first,
        last_token=last,
        end=last + 0.001,
        gaps=gaps,
        chunks=len(gaps) + 1,
        first_chunk_tokens=1,
        prompt_tokens=WORKLOAD.prompt_tokens,
        output_tokens=WORKLOAD.output_tokens,
        count_source="usage",
        finish="length",
        text="…",
        status=200,
    )


def measure(db: Database, run: str, speed: float, reading: float, levels: int = 4) -> None:
    """Store the prompt set and the first ``levels`` levels of the sweep."""
    for tokens in WORKLOAD.prefill:
        part = level(run, 1, speed=speed, reading=reading)
        samples = tuple(
            msgspec.structs.replace(
                sample,
                prompt_tokens=tokens,
                first_token=(sample.first_token or 0) * (tokens / WORKLOAD.prompt_tokens) ** 1.05,
            )
            for sample in part.samples[:3]
        )
        part = msgspec.structs.replace(part, samples=samples)
        made = summarise(part, kind="prefill", name=f"pp{tokens}", slots=4)
        store.save_level(db, run, made, samples)
    part = level(f"{run}decode", 1, speed=speed, reading=reading)
    part = msgspec.structs.replace(part, samples=part.samples[:3])
    made = summarise(part, kind="decode", name=f"tg{WORKLOAD.decode}", slots=4)
    store.save_level(db, run, made, part.samples)
    for people in WORKLOAD.levels[:levels]:
        part = level(run, people, speed=speed, reading=reading)
        made = summarise(
            part,
            kind="sweep",
            name=f"c{people}",
            prompt_tokens_planned=WORKLOAD.prompt_tokens,
            output_tokens_planned=WORKLOAD.output_tokens,
            slots=4,
        )
        store.save_level(db, run, made, part.samples)


def answer(db: Database, run: str, texts: dict[str, str], speed: float) -> None:
    for prompt in PROMPTS:
        text = texts[prompt.id]
        gaps = (1 / speed,) * (len(text) - 1)
        sample = _sample(prompt.id, 0.0, 0.21, gaps, 0.21 + sum(gaps))
        sample = msgspec.structs.replace(sample, text=text, output_tokens=len(text), finish="stop")
        store.save_answer(
            db,
            run,
            Answer(
                prompt=prompt.id,
                repeat=1,
                language=prompt.language,
                question=prompt.text,
                sample=sample,
            ),
        )


def launched(db: Database, run: str, seconds: float) -> None:
    """Go through the states of a start and note what is known of it."""
    store.claim(db)
    store.enter(db, run, "loading")
    for share in (0.3, 1.0):
        data = {"stage": "weights", "share": share, "eta_s": seconds * (1 - share), "text": ""}
        store.event(db, run, "stage", data)
    store.learn(
        db,
        run,
        {
            "command": f"llama-server --model /models/{run}.gguf --parallel 4 --ctx-size 4096",
            "engine_version": "b7240",
            "load_seconds": seconds,
            "stages": {"starting": 0.4, "weights": seconds - 1, "server": 0.6},
            "slots": 4,
            "context": 1024,
            "tokenizer": "engine",
        },
    )
    store.enter(db, run, "warming")


def done(db: Database, model: str, name: str, speed: float, texts: dict[str, str]) -> str:
    run = store.submit(db, plan(model, name))
    launched(db, run, 400 / speed)
    store.enter(db, run, "measuring")
    measure(db, run, speed, speed * 26)
    answer(db, run, texts, speed)
    store.enter(db, run, "judging")
    store.enter(db, run, "done")
    return run


def live(db: Database, name: str = "SmolLM2 135M") -> str:
    """A run that has measured two levels and works on the third."""
    run = store.submit(db, plan("smollm2-135m", name))
    launched(db, run, 3.2)
    store.enter(db, run, "measuring")
    measure(db, run, 120, 3000, levels=2)
    now = {"kind": "sweep", "name": "c4", "concurrency": 4, "position": 6, "of": 7, "planned": 24}
    store.event(db, run, "level", now)
    return run


def loading(db: Database) -> str:
    run = store.submit(db, plan("gpt-oss-120b", "gpt-oss-120b"))
    store.claim(db)
    store.enter(db, run, "loading")
    data = {"stage": "weights", "share": 0.62, "eta_s": 240.0, "text": "shard 9 of 15"}
    store.event(db, run, "stage", data)
    return run


def fill(path: Path) -> dict[str, str]:
    """Fill the store at ``path``; the ids of its runs by what they are."""
    with store.opened(path) as db:
        ids = {
            "fast": done(db, "smollm2-135m", "SmolLM2 135M", 120, POOR),
            "good": done(db, "gemma3-270m", "Gemma 3 270M (base)", 55, GOOD),
        }
        ids["failed"] = store.submit(db, plan("qwen3.8-27b", "Qwen3.8-27B"))
        store.claim(db)
        store.enter(db, ids["failed"], "loading")
        store.fail(db, ids["failed"], Fault(code="disk_full"))
        ids["interrupted"] = live(db, "SmolLM2 135M")
        store.interrupt(db)
        ids["live"] = live(db)
        ids["queued"] = store.submit(db, plan("gemma3-270m", "Gemma 3 270M (base)"))
        _spread_out(db, list(ids.values()))
    return ids


def _spread_out(db: Database, runs: list[str]) -> None:
    """Give the runs times as if each had taken a few minutes."""
    for place, run in enumerate(runs):
        begin = f"2026-11-30T08:{place * 8:02d}"
        db.execute(
            "update runs set created = ?, started = ?, finished = iif(finished, ?, null) "
            "where id = ?",
            (
                f"{begin}:00.000+00:00",
                f"{begin}:01.000+00:00",
                f"2026-11-30T08:{place * 8 + 3:02d}:10.000+00:00",
                run,
            ),
        )


if __name__ == "__main__":
    print(fill(Path(sys.argv[1]) / "bench.db"))

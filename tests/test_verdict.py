"""The sentences that a person reads first, in both languages."""

from __future__ import annotations

import itertools
import string
import tomllib
from pathlib import Path

import msgspec
import pytest
from levels import closed_loop, failed, level, sample

from bench.catalogue import Published, Workload
from bench.numbers.measured import Measured, of_published
from bench.numbers.metrics import summarise
from bench.numbers.sweetspot import Criteria, SweetSpot, Trial, find, trials
from bench.numbers.verdict import compare, conditions, headline, reasons, spot_of
from bench.text import FOLDER, LANGUAGES, words

EN, ZH = words("en"), words("zh-TW")
DATA = Path(__file__).parents[1] / "data"
WORK = Workload(
    id="w", name={"en": "W", "zh-TW": "W"}, prefill=(), decode=128, warmups=1, measured=5,
    answers=(), answer_tokens=8, levels=(1, 4, 8), prompt_tokens=2048, output_tokens=128,
    requests=64,
)  # fmt: skip


def trial(concurrency, speed=20.0, wait=1.0, **more):
    values = {"success": 1.0, "n": 64, **more}
    return Trial(concurrency=concurrency, speed=speed, wait=wait, **values)


def published(id):
    table = tomllib.loads((DATA / "published.toml").read_text(encoding="utf-8"))
    found = msgspec.convert({"id": id, **table[id]}, Published)
    return of_published(found.engine, found)


def test_a_shop_owner_is_told_how_many_people_and_what_happens_beyond():
    spot = find([trial(1), trial(6, wait=3.0), trial(8, wait=5.2)])
    assert headline(spot, EN) == (
        "6 people can use it at once; with 8 the slowest waits 5.2 s for the first word."
    )
    assert headline(spot, ZH) == "6 人可以同時使用；8 人時，最慢的要等 5.2 秒才看到第一個字。"
    assert conditions(spot, WORK, EN) == (
        "Each person sends about 2048 tokens, gets 128 back and asks again at once; everybody "
        'begins together. "The slowest" is the worst of 64 requests.'
    )
    assert reasons(spot, EN)[:2] == (
        "What decides is the wait for the first word (TTFT), not the writing speed.",
        "The wait for the first word is the tightest limit: 25 % of it is left.",
    )


@pytest.mark.parametrize(
    ("tried", "sentence"),
    [
        ([], "How many people can use it at once was not measured."),
        ([trial(1), trial(8)], "At least 8 people can use it at once; more were not tried."),
        ([trial(1)], "One person can use it; more at once were not tried."),
        (
            [trial(1), trial(4, 7.06)],
            "One person at a time can use it; with 4 the text comes slower than people read "
            "(7.1 tokens a second for each).",
        ),
        (
            [trial(8, 11.78, 3.93), trial(16, 7.06, 7.9)],
            "8 people can use it at once; with 16 the slowest waits 7.9 s for the first word and "
            "the text comes slower than people read.",
        ),
        (
            [trial(4), trial(8, success=0.5)],
            "4 people can use it at once; with 8 only 50 % of the requests succeed.",
        ),
        (
            [trial(1, wait=12.0)],
            "It is too slow even for one person: the first word takes 12 s.",
        ),
        (
            [trial(4, 3.0)],
            "It is too slow for 4 people at once, the fewest that were tried: the text comes "
            "slower than people read (3.0 tokens a second for each).",
        ),
        (
            [trial(1), trial(4), trial(8, queueing=True)],
            "4 people can use it at once; the engine was started to serve no more, and others "
            "wait in line.",
        ),
    ],
)
def test_every_outcome_has_its_sentence(tried, sentence):
    assert headline(find(tried), EN) == sentence


def test_when_all_failed_nothing_is_said_of_speed():
    broken = summarise(level([failed(i) for i in range(4)], 4), kind="sweep", name="c4")
    assert headline(find(trials([broken])), EN).startswith("No request succeeded")


def test_a_demo_model_says_that_it_is_one():
    said = headline(find([trial(1), trial(2)]), EN, demo=True)
    assert said.startswith("At least 2 people")
    assert said.endswith("This is a small demo model: it shows how a test works, not what this "
                         "machine can do.")  # fmt: skip
    assert "。這是小型示範模型" in headline(find([trial(1), trial(2)]), ZH, demo=True)


def test_for_readers_of_chinese_speed_is_in_characters():
    spot = find([trial(1), trial(4, 7.0)], Criteria(characters_per_token=1.2))
    said = headline(spot, ZH, Criteria(characters_per_token=1.2))
    assert said == "一次只夠 1 人使用；4 人時，文字出現得比閱讀還慢（每人每秒 8.4 個字）。"


def test_the_first_wave_and_longer_prompts_are_part_of_the_verdict():
    spot = find(
        [
            trial(8, wait=3.9, first_wave=3.9, steady=1.1),
            trial(16, wait=7.9, first_wave=7.9, steady=2.2),
        ]
    )
    assert reasons(spot, EN)[2:] == (
        "When everybody pressed Enter at once, the slowest waited 3.9 s; after that 1.1 s.",
        "If people do not all begin at the same moment, 16 could use it.",
        "Longer prompts mean longer waits: with twice the length the slowest would wait about "
        "7.8 s (the limit is 4 s), so plan with fewer people.",
    )


def test_the_published_figures_are_eight_people():
    spot = spot_of(published("ironman-2026-day9-vllm"))
    assert headline(spot, EN) == (
        "8 people can use it at once; with 16 the text comes slower than people read "
        "(7.1 tokens a second for each)."
    )
    assert "2 % of it is left" in reasons(spot, EN)[1]


def test_the_published_pair_reads_as_its_author_reads_it():
    pair = [published("ironman-2026-day8-llama-cpp"), published("ironman-2026-day9-vllm")]
    assert compare(pair, EN) == (
        "For one person alone, llama.cpp writes 71 % faster than vllm.",
        "vllm reads a prompt of 8192 tokens 87 % faster than llama.cpp, so its first word comes "
        "sooner.",
        "These are figures published by ivanusto, not measured here.",
    )


def run(label, step, waits, **more):
    alone = level([sample(i, sent=3.0 * i, step=step) for i in range(5)])
    sweep = [
        summarise(
            closed_loop(160, users, first_wave=wait, step=step), kind="sweep", name=f"c{users}"
        )
        for users, wait in waits.items()
    ]
    decode = summarise(alone, kind="decode", name="tg128")
    return Measured(label=label, workload="quick-1", levels=(decode, *sweep), **more)


def test_two_runs_in_three_sentences():
    a = run("gpt-oss", 0.02, {1: 0.5, 4: 2.0, 8: 3.0})
    b = run("Ornith", 0.03, {1: 0.5, 4: 2.0, 8: 6.0})
    assert compare([b, a], EN) == (
        "gpt-oss serves more people at once: at least 8 against 4 on Ornith.",
        "For one person alone, gpt-oss writes 50 % faster than Ornith.",
        "With 8 people at once, gpt-oss gives 38 % more text in all than Ornith.",
    )


def test_a_tie_is_said_to_be_one():
    said = compare([run("A", 0.0200, {4: 1.0}), run("B", 0.0205, {4: 1.0})], EN)
    assert said[0].startswith("A and B both serve at least 4 people")
    assert "there is no difference between A and B in writing speed: 2.5 % is within" in said[1]


def test_a_limit_that_was_never_reached_leaves_the_question_open():
    said = compare([run("A", 0.02, {4: 1.0, 8: 1.0}), run("B", 0.02, {4: 1.0})], EN)
    assert said[0] == (
        "A serves 8 people at once; B was only tried with up to 4, so which of them serves more "
        "is open."
    )


def test_what_cannot_be_compared_says_why_and_gives_no_percentage():
    a = run("A", 0.02, {4: 1.0})
    b = msgspec.structs.replace(run("B", 0.04, {4: 1.0}), workload="standard-1")
    said = compare([a, b], EN)
    assert said == (
        "A and B cannot be compared, because they were sent different workloads (quick-1 and "
        "standard-1).",
    )
    mixed = compare([a, published("ironman-2026-day9-vllm")], EN)
    assert mixed[0].startswith("A was measured here; vllm is published")
    assert "%" not in mixed[0]


def test_a_flipping_machine_is_named_in_place_of_a_winner():
    def repeats(label, steps):
        decodes = [
            summarise(level([sample(step=step)]), kind="decode", name="tg128", repeat=number)
            for number, step in enumerate(steps, 1)
        ]
        return Measured(label=label, workload="w", levels=tuple(decodes))

    said = compare([repeats("A", [0.01, 0.016, 0.01]), repeats("B", [0.05] * 3)], EN)
    assert said[0].startswith("A cannot be ranked: its repeats fall into two states, around 62")


def test_nothing_in_common_and_too_few_have_sentences_too():
    a = Measured(label="A", workload="w")
    assert compare([a, Measured(label="B", workload="w")], EN)[0].startswith("These results have")
    assert compare([a], EN) == ("Choose at least two results to compare.",)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_kind_of_verdict_can_be_said_in_both_languages(language):
    t = words(language)
    why = [("wait",), ("speed",), ("speed", "wait"), ("success",)]
    plain = Criteria()
    chinese = Criteria(characters_per_token=1.5)
    for kind, level_, decided, slots, criteria in itertools.product(
        ("edge", "floor", "none", "unknown"), (1, 8), why, (True, False), (plain, chinese)
    ):
        spot = SweetSpot(
            kind=kind,
            level=level_ if kind in ("edge", "floor") else None,
            at=trial(level_, first_wave=1.0, steady=0.5),
            failed=trial(2 * level_),
            decided_by=decided if kind in ("edge", "none") else (),
            tightest="wait",
            headroom=0.2,
            slots=slots,
            spread=16,
            uneven=True,
        )
        assert headline(spot, t, criteria)
        assert len(reasons(spot, t, criteria)) >= 5
    for arrival in ("closed", "burst", "staggered", "poisson"):
        assert conditions(find([]), msgspec.structs.replace(WORK, arrival=arrival), t)


def test_both_languages_fill_in_the_same_fields():
    for file in ("verdict.toml", "metrics.toml", "health.toml", "flags.toml"):
        for key in _keys(tomllib.loads((FOLDER / file).read_text(encoding="utf-8"))):
            fields = [
                {name for _, name, _, _ in string.Formatter().parse(words(one)._sentences[key])}
                for one in LANGUAGES
            ]
            assert fields[0] == fields[1], key


def _keys(table, above=""):
    for name, value in table.items():
        if isinstance(value, dict) and set(value) == set(LANGUAGES):
            yield f"{above}{name}"
        elif isinstance(value, dict):
            yield from _keys(value, f"{above}{name}.")

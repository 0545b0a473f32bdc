import msgspec

from bench.catalogue import Workload, load
from bench.running.steps import DECODE_PROMPT, level_step, steps, tokens_needed

WORK = Workload(
    id="w-1", name={"en": "W", "zh-TW": "測"}, prefill=(2048, 8192), decode=128, warmups=1,
    measured=5, answers=("a",), answer_tokens=64, levels=(1, 4, 8, 16, 32), prompt_tokens=2048,
    output_tokens=128, requests=16,
)  # fmt: skip


def test_the_prompt_set_comes_before_the_sweep_and_one_request_at_a_time() -> None:
    found = [
        (s.name, s.concurrency, s.requests, s.prompt_tokens, s.output_tokens) for s in steps(WORK)
    ]
    assert found == [
        ("pp2048", 1, 5, 2048, 1),
        ("pp8192", 1, 5, 8192, 1),
        ("tg128", 1, 5, DECODE_PROMPT, 128),
        ("c1", 1, 16, 2048, 128),
        ("c4", 4, 16, 2048, 128),
        ("c8", 8, 16, 2048, 128),
        ("c16", 16, 16, 2048, 128),
        ("c32", 32, 32, 2048, 128),
    ]


def test_every_user_of_a_level_asks_at_least_once() -> None:
    assert level_step(WORK, 64).requests == 64


def test_each_repeat_of_the_sweep_has_an_order_of_its_own_that_spares_the_machine() -> None:
    work = msgspec.structs.replace(WORK, repeats=3, order="heat_aware")
    sweep = [step for step in steps(work, seed=5) if step.kind == "sweep"]
    turns = [[s.concurrency for s in sweep if s.repeat == repeat] for repeat in (1, 2, 3)]
    assert [sorted(turn) for turn in turns] == [[1, 4, 8, 16, 32]] * 3
    assert len({tuple(turn) for turn in turns}) > 1
    assert all(abs(turn.index(32) - turn.index(16)) > 1 for turn in turns)
    assert steps(work, seed=5) == steps(work, seed=5)


def test_the_context_that_is_needed_is_that_of_the_longest_request() -> None:
    assert tokens_needed(WORK) == 8193
    assert tokens_needed(msgspec.structs.replace(WORK, prefill=(8,), prompt_tokens=8)) == 576


def test_every_workload_of_the_catalogue_has_steps() -> None:
    for workload in load().workloads.values():
        assert [step.kind for step in steps(workload)].count("sweep") == len(
            workload.levels
        ) * workload.repeats

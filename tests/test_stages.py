"""A start read from its log: real logs, and the formats of older and newer engines."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from engines import stages
from engines.eta import Eta, PastLoad, eta
from engines.stages import LoadFacts, Progress, Stage

LOGS = Path(__file__).parent / "data" / "logs"
PUBLISHED = LoadFacts(
    shards_done=15, shards_total=15, weights_seconds=591.02, model_gib=60.12,
    model_seconds=593.8715, compile_seconds=8.41, graphs_seconds=10.84, graphs_gib=0.71,
    kv_gib=16.48, kv_tokens=849_942, context=32_768, max_concurrency=25.94, engine_seconds=30.13,
)  # fmt: skip


def lines(name: str) -> list[str]:
    return (LOGS / name).read_text(encoding="utf-8").split("\n")


def facts_of(line: str) -> dict[str, object]:
    found = stages.read([line]).facts
    blank = LoadFacts()
    return {name: value for name in found.__struct_fields__
            if (value := getattr(found, name)) != getattr(blank, name)}  # fmt: skip


@pytest.mark.parametrize(
    ("file", "version"), [("vllm_spark_new.log", "0.26.1"), ("vllm_spark_old.log", "0.9.2")]
)
def test_old_and_new_wording_give_the_same_figures(file: str, version: str) -> None:
    progress = stages.read(lines(file))
    assert progress.facts == LoadFacts(
        **{**{name: getattr(PUBLISHED, name) for name in PUBLISHED.__struct_fields__},
           "version": version}  # type: ignore[arg-type]
    )  # fmt: skip
    assert progress.stage == "ready"
    names = [stage.name for stage in progress.stages]
    assert names == ["starting", "weights", "compile", "cache", "graphs", "server", "ready"]


def test_a_real_vllm_log_is_read() -> None:
    progress = stages.read(lines("vllm_cpu_startup.log"))
    assert progress.facts == LoadFacts(
        version="0.32.0", shards_done=1, shards_total=1, weights_seconds=0.01, kv_gib=1.0,
        kv_tokens=524_288, context=2048, max_concurrency=256.0, engine_seconds=30.43,
    )  # fmt: skip
    names = [stage.name for stage in progress.stages]
    assert names == ["starting", "weights", "compile", "cache", "server", "ready"]


def test_a_real_llama_cpp_log_is_read() -> None:
    progress = stages.read(lines("llama_cpp_smollm2.log"))
    assert progress.facts == LoadFacts(slots=4, context=2048, kv_unified=False)
    assert [stage.name for stage in progress.stages] == ["starting", "weights", "cache", "server"]


def test_an_older_llama_cpp_log_is_read() -> None:
    progress = stages.read(lines("llama_cpp_spark_old.log"))
    assert progress.facts == LoadFacts(
        slots=32, context=10_240, kv_gib=2.25, gpu_layers=37, gpu_layers_of=37
    )
    assert progress.stage == "ready"


def test_shards_give_a_share_and_a_stage_left_behind_gives_none() -> None:
    log = [line for line in lines("vllm_spark_new.log") if line]
    seventh = next(n for n, line in enumerate(log) if "7/15" in line)
    progress = stages.read(log[: seventh + 1])
    assert (progress.stage, progress.facts.shards_done) == ("weights", 7)
    assert progress.share == pytest.approx(7 / 15)
    assert stages.read(log).share is None


def test_progress_moves_only_with_a_stage_a_share_or_a_figure() -> None:
    progress = Progress()
    for at, line in [
        (1.0, "Loading safetensors checkpoint shards:   0% Completed | 0/15 [00:00<?, ?it/s]"),
        (40.0, "Loading safetensors checkpoint shards:   7% Completed | 1/15 [00:39<09:11]"),
        (90.0, "WARNING something harmless, again and again"),
        (95.0, "Loading safetensors checkpoint shards:   7% Completed | 1/15 [00:39<09:11]"),
    ]:
        progress = stages.step(progress, line, at)
    assert progress.moved == 40.0
    assert progress.stages == (Stage(name="starting", began=0.0), Stage(name="weights", began=1.0))


def test_a_stage_never_goes_back() -> None:
    log = ["Available KV cache memory: 9.52 GiB", "Loading weights took 3.0 seconds"]
    progress = stages.read(log)
    assert progress.stage == "cache"
    assert progress.facts.weights_seconds == 3.0


def test_a_draft_model_s_load_leaves_the_model_s_figures() -> None:
    log = [
        "Loading safetensors checkpoint shards: 100% Completed | 15/15 [09:51<00:00]",
        "Loading weights took 591.02 seconds",
        "Loading safetensors checkpoint shards:   0% Completed | 0/1 [00:00<?, ?it/s]",
        "Loading weights took 2.5 seconds",
    ]
    progress = stages.read(log)
    assert (progress.facts.weights_seconds, progress.facts.shards_total) == (591.02, 15)
    assert progress.share == 1.0


@pytest.mark.parametrize(
    ("line", "facts"),
    [
        ("INFO 08-28 [x.py:1] # GPU blocks: 1,234, # CPU blocks: 5", {"kv_tokens": 19_744}),
        ("(Worker_TP0 pid=7) \x1b[32mINFO\x1b[0m [x.py:1] Available KV cache memory: 40.1 GiB",
         {"kv_gib": 40.1}),
        ("Graph capturing finished in 21 secs.", {"graphs_seconds": 21.0}),
        ("init engine (profile, create kv cache, warmup model) took 41.10 s (compilation: 3.20 s "
         "— language_model: 3.00 s, encoder: 0.20 s)",
         {"engine_seconds": 41.1, "compile_seconds": 3.2}),
        ("[7001] 0.02.505.689 I srv    load_model: initializing, n_slots = 4, n_ctx_slot = 8192, "
         "kv_unified = 'true'", {"slots": 4, "context": 8192, "kv_unified": True}),
        ("slot   load_model: id  0 | task -1 | new slot, n_ctx = 4096", {"context": 4096}),
        ("load_tensors: offloaded 0/37 layers to GPU", {"gpu_layers": 0, "gpu_layers_of": 37}),
        ("max_total_num_tokens=812345, chunked_prefill_size=8192, max_prefill_tokens=16384, "
         "max_running_requests=48, context_len=32768",
         {"kv_tokens": 812_345, "slots": 48, "context": 32_768}),
        ("torch.compile is disabled by --enforce-eager", {}),
        ("a line of a newer version", {}),
        ("", {}),
    ],
)  # fmt: skip
def test_lines_of_many_versions(line: str, facts: dict[str, object]) -> None:
    assert facts_of(line) == facts


def test_a_line_redrawn_in_place_counts_in_its_last_state() -> None:
    progress = stages.read(["Capturing CUDA graphs:  40%| | 14/35\rCapturing CUDA graphs | 28/35"])
    assert progress.share == pytest.approx(0.8)


def test_durations_are_from_stage_to_stage() -> None:
    begins = (("starting", 0.0), ("weights", 30.0), ("ready", 621.0))
    progress = Progress(stages=tuple(Stage(name=name, began=at) for name, at in begins))  # type: ignore[arg-type]
    found = stages.durations(progress, 681.0)
    assert found == {"starting": 30.0, "weights": 591.0, "ready": 60.0}


PAST = PastLoad(seconds=681.0, stages={"starting": 34.0, "weights": 591.0, "compile": 16.0,
                                       "cache": 11.0, "graphs": 24.0, "server": 5.0})  # fmt: skip


def at_weights(share: float | None) -> Progress:
    return Progress(stages=(Stage(name="starting", began=0.0), Stage(name="weights", began=34.0)),
                    share=share)  # fmt: skip


def test_the_eta_is_the_rest_of_this_stage_and_all_later_ones() -> None:
    assert eta(Progress(), 0.0, [PAST]) == Eta(seconds=681.0, basis="past")
    assert eta(at_weights(None), 134.0, [PAST]) == Eta(seconds=491.0 + 56.0, basis="past")


def test_the_pace_of_the_shards_corrects_the_past() -> None:
    slower = eta(at_weights(0.25), 34.0 + 200.0, [PAST])
    assert slower == Eta(seconds=600.0 + 56.0, basis="past")


def test_without_a_past_the_shards_speak_for_the_weights_alone() -> None:
    assert eta(at_weights(0.2), 34.0 + 100.0) == Eta(seconds=400.0, basis="shards")
    assert eta(at_weights(0.01), 34.0 + 10.0) is None


def test_without_either_the_size_and_a_rate_do() -> None:
    found = eta(at_weights(None), 134.0, size=60 * 10**9, rate=10**8)
    assert found == Eta(seconds=500.0, basis="rate")
    assert eta(at_weights(None), 10.0) is None


def test_the_median_of_the_last_five_starts_counts() -> None:
    past = [PastLoad(seconds=seconds) for seconds in (100, 110, 900, 120, 90, 9000, 9000)]
    assert eta(Progress(), 10.0, past) == Eta(seconds=100.0, basis="past")


def test_a_start_much_longer_than_usual_is_late_and_never_below_zero() -> None:
    found = eta(Progress(), 130.0, [PastLoad(seconds=100)])
    assert found == Eta(seconds=0.0, basis="past", late=True)


def test_the_eta_of_the_published_start_falls_all_the_way() -> None:
    progress, left = Progress(), []
    shards = [line for line in lines("vllm_spark_new.log") if "Completed" in line]
    for number, line in enumerate(shards):
        seconds = 34.0 + 591.0 * number / 15
        progress = stages.step(progress, line, seconds)
        found = eta(progress, seconds, [PAST])
        assert found
        left.append(found.seconds)
    assert left == sorted(left, reverse=True)
    assert all(one - other == pytest.approx(39.4) for one, other in pairwise(left))

"""The Start page: machines, community recipes, images, engines that are kept; and what a start
shows on the Run page."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from bench import config, store
from bench.machine import seen
from bench.machine.seen import Seen
from bench.running import lock, roster
from bench.text import LANGUAGES, words
from engines.launches import launch_for
from tests import examples
from tests.test_pages import text, unescaped, visit

en = words("en")
IMAGE = "ghcr.io/ggml-org/llama.cpp:server-cuda13"


@pytest.fixture
def var(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installation whose worker is a service of its own: Docker is not asked by the pages."""
    monkeypatch.setenv("SPARK_COMPARE_VAR", str(tmp_path))
    monkeypatch.setenv("SPARK_COMPARE_START_WORKER", "0")
    monkeypatch.setenv("SPARK_COMPARE_FLOOR_GIB", "0.1")
    proc = tmp_path / "proc"
    proc.mkdir()
    (proc / "meminfo").write_text(
        "MemTotal: 128000000 kB\nMemFree: 120000000 kB\nMemAvailable: 120000000 kB\n"
        "Cached: 0 kB\nShmem: 0 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n"
    )
    monkeypatch.setenv("SPARK_COMPARE_PROC", str(proc))
    return tmp_path


def container(language: str = "en") -> AppTest:
    """The page with SmolLM2 on llama.cpp in its container chosen."""
    at = smollm(language)
    at.radio[1].set_value("llama.cpp").run()
    assert not at.exception
    return at


def smollm(language: str = "en") -> AppTest:
    at = visit("launch.py", language)
    at.radio[0].set_value("smollm2-135m").run()
    return at


def saw(var: Path, found: Seen) -> None:
    with store.opened(var / "bench.db") as db:
        seen.save(db, "local", found)


def started(var: Path, at: AppTest) -> store.Run:
    at.button(key="start").click().run()
    with store.opened(var / "bench.db") as db:
        return store.runs(db)[0]


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_image_that_is_missing_is_fetched_only_after_a_yes(var: Path, language: str) -> None:
    saw(var, Seen(images={"other:1": 5}))
    at = container(language)
    assert at.button(key="start").disabled
    assert IMAGE in unescaped(at.warning[0].value)
    assert words(language)("launch.size_unknown") in unescaped(at.warning[0].value)
    assert any("docker load --input image.tar" in one.value for one in at.code)
    at.checkbox(key=f"fetch-{IMAGE}").check().run()
    assert started(var, at).plan.fetch_image


def test_an_image_that_is_here_needs_no_question(var: Path) -> None:
    saw(var, Seen(images={IMAGE: 5}))
    at = container()
    assert not at.warning
    assert not any(one.key == f"fetch-{IMAGE}" for one in at.checkbox)
    assert not at.button(key="start").disabled


def test_where_docker_was_not_seen_nothing_is_fetched_unless_asked(var: Path) -> None:
    at = container()
    assert en("launch.image_unknown", image=IMAGE) in unescaped(at.warning[0].value)
    assert not started(var, at).plan.fetch_image


def test_the_size_is_said_where_the_image_was_here_before(var: Path) -> None:
    with store.opened(var / "bench.db") as db:
        run = store.submit(db, examples.plan("smollm2-135m", "SmolLM2"))
        store.learn(db, run, {"image": IMAGE, "image_bytes": 3 * 1024**3})
        assert seen.size(db, IMAGE) == 3 * 1024**3
    saw(var, Seen())
    assert "3.0 GiB" in container().warning[0].value


@pytest.mark.parametrize(
    ("image", "presence"),
    [
        ("a/b:1", "here"),
        ("a/b", "missing"),
        ("c", "here"),
        ("a/b@sha256:12", "here"),
        ("localhost:5000/x", "missing"),
    ],
)
def test_an_image_is_known_by_its_whole_name(image: str, presence: str) -> None:
    found = Seen(images={"a/b:1": 1, "c:latest": 1, "a/b@sha256:12": 1})
    assert seen.presence(found, image) == presence
    assert seen.presence(None, image) == "unknown"


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_fit_is_shown_with_how_it_was_calculated(var: Path, language: str) -> None:
    at, t = smollm(language), words(language)
    at.radio[1].set_value("llama.cpp-local").run()
    shown = text(at)
    for key in ("fit.items.weights", "fit.items.available", "fit.items.floor", "fit.how.measured"):
        assert t(key) in shown
    assert t("fit.verdict.ready") in unescaped(at.success[0].value)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_command_and_the_source_of_its_settings_are_shown(var: Path, language: str) -> None:
    saw(var, Seen(images={IMAGE: 5}))
    at = container(language)
    (command,) = [one.value for one in at.code if one.value.startswith("docker run")]
    assert "--publish 127.0.0.1:8080:8080" in command and "readonly" in command
    source = words(language)("launch.source", source="").strip()
    assert source in text(at)


def test_an_engine_is_kept_only_where_that_is_ticked(var: Path) -> None:
    saw(var, Seen(images={IMAGE: 5}))
    at = container()
    at.checkbox(key="keep").check().run()
    assert started(var, at).plan.keep_running
    at = smollm()
    at.radio[1].set_value("llama.cpp-local").run()
    assert not any(one.key == "keep" for one in at.checkbox), "not for a process"


def test_a_kept_engine_of_the_same_settings_is_said_to_be_warm(var: Path) -> None:
    saw(var, Seen(images={IMAGE: 5}))
    run = started(var, container())
    with store.opened(var / "bench.db") as db:
        roster.add(db, run, "spark-compare-x", launch_for(run.plan.recipe))
        roster.keep(db, run.id)
    assert en("remarks.warm", title=run.title) in text(container())
    at = container()
    at.number_input[0].set_value(2048).run()
    assert en("remarks.room", title=run.title) in text(at)


def other_machine(var: Path) -> None:
    (var / "machines.toml").write_text(
        '[lab]\nname = "The lab\'s Spark"\ndocker = "ssh://ops@spark-lab.lan"\nmodels = "/m"\n'
    )


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_run_is_started_on_another_machine_with_its_own_model_root(
    var: Path, language: str
) -> None:
    other_machine(var)
    with store.opened(var / "bench.db") as db:
        seen.save(db, "lab", Seen(images={"nvcr.io/nvidia/vllm:26.07-py3": 1}))
    at = visit("launch.py", language)
    at.radio(key="machine").set_value("lab").run()
    at.radio[2].set_value("vllm").run()
    assert "llama.cpp (local)" not in at.radio[2].options
    assert "lab" in text(at)
    run = started(var, at)
    assert (run.host, run.plan.host) == ("lab", "lab")
    assert run.plan.recipe.path.startswith("/m/")
    assert run.engine != "llama.cpp-local"


def test_a_list_of_machines_with_a_mistake_is_a_sentence(var: Path) -> None:
    (var / "machines.toml").write_text('[lab]\ndocker = "tcp://spark:2376"\n')
    at = visit("launch.py")
    assert "certificates" in unescaped(at.warning[0].value)
    assert at.button(key="start").disabled


RECIPE = (config.ROOT / "data/recipes/community/gpt-oss-120b-mxfp4.yaml").read_bytes()


def community(language: str = "en") -> AppTest:
    at = visit("launch.py", language)
    at.radio[0].set_value("shared").run()
    assert not at.exception
    return at


def model_here(var: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that looks like a tiny gpt-oss-120b."""
    folder = var / "models" / "openai" / "gpt-oss-120b"
    folder.mkdir(parents=True)
    shutil.copy(config.ROOT / "data/shapes/gpt-oss-120b.json", folder / "config.json")
    header = b'{"w":{"dtype":"U8","shape":[16],"data_offsets":[0,16]}}'
    (folder / "model.safetensors").write_bytes(
        len(header).to_bytes(8, "little") + header + bytes(16)
    )


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_community_recipe_is_started_with_its_source_shown(
    var: Path, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model_here(var, monkeypatch)
    saw(var, Seen(images={"sparkarena/spark-vllm-docker:mxfp4": 1}))
    at = community(language)
    shown = text(at)
    assert "data/recipes/community/gpt-oss-120b-mxfp4.yaml" in shown
    assert "--mxfp4-backend CUTLASS" in shown
    run = started(var, at)
    assert run.plan.recipe.image == "sparkarena/spark-vllm-docker:mxfp4"


def test_a_community_recipe_says_what_the_sweep_cannot_show_with_it(
    var: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model_here(var, monkeypatch)
    at = community()
    few = RECIPE.replace(b"max_num_seqs: 32", b"max_num_seqs: 4").replace(
        b"runtime:", b"colour: red\nruntime:"
    )
    at.file_uploader[0].upload("mine.yaml", few, "application/yaml").run()
    shown = text(at)
    assert "mine.yaml" in shown
    assert en("community.queueing", slots=4, levels="8") in shown
    assert en("community.unknown_key", name="colour") in shown


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"- just\n- a list\n", "recipe_not_yaml"),
        (b"\x00\xff\xfe", "recipe_not_yaml"),
        (RECIPE + b"privileged: true\n", "recipe_asks"),
        (b"#" * 300_000, "recipe_too_large"),
    ],
)
def test_a_bad_recipe_is_refused_in_a_sentence(var: Path, content: bytes, code: str) -> None:
    at = community()
    at.file_uploader[0].upload("bad.yaml", content, "application/yaml").run()
    assert at.button(key="start").disabled
    said = en(f"errors.{code}", what="privileged", kib=292, limit=256, line=1, reason="")
    assert said[:20] in unescaped(at.warning[0].value)


# The Run page -------------------------------------------------------------------------------------


def loading(var: Path) -> str:
    with store.opened(var / "bench.db") as db:
        run = store.submit(db, examples.plan("smollm2-135m", "SmolLM2"))
        store.claim(db)
        store.enter(db, run, "loading")
        for second, left in ((0.0, 100.0), (2.0, 80.0), (4.0, 61.5)):
            store.event(
                db, run, "stage",
                {"stage": "weights", "share": second / 8, "seconds": second, "eta_s": 8 - second,
                 "memory_gib": left, "text": f"Loading shard at {second}"},
            )  # fmt: skip
    (var / "logs").mkdir(exist_ok=True)
    log = "".join(f"line {n} **bold** <b>\n" for n in range(5000))
    (var / "logs" / f"{run}.log").write_text(log)
    return run


@pytest.mark.parametrize("language", LANGUAGES)
def test_loading_shows_stage_share_memory_and_the_end_of_the_log(var: Path, language: str) -> None:
    t = words(language)
    run = loading(var)
    with lock.held(config.read(os.environ).lock):
        at = visit("run.py", language, run=run)
    (bar,) = at.get("progress")
    assert bar.proto.value == 50 and "4.0" in bar.proto.text
    assert len(at.get("vega_lite_chart")) == 1
    assert t("charts.memory.title") in text(at)
    (log,) = [one.value for one in at.code if "line 4999" in one.value]
    assert log.splitlines()[0] == "line 4960 **bold** <b>" and len(log.splitlines()) == 40


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_a_start_gave_is_shown_afterwards(var: Path, language: str) -> None:
    t = words(language)
    run = loading(var)
    facts = {
        "load_seconds": 681.0, "round_trip": 0.0123, "warm": "abcdefgh",
        "load": {"model_gib": 66.2, "weights_seconds": 523.9, "kv_gib": 16.48,
                 "kv_tokens": 849942, "max_concurrency": 25.94, "compile_seconds": 14.2,
                 "graphs_seconds": 31.0, "version": "0.29.0", "kv_unified": None},
    }  # fmt: skip
    with store.opened(var / "bench.db") as db:
        store.learn(db, run, facts)
        store.enter(db, run, "cancelled")
    at = visit("run.py", language, run=run)
    (table,) = [one.value for one in at.table if t("loaded.weights") in unescaped(str(one.value))]
    shown = unescaped(str(table))
    for said in ("66.2 GiB", "849,942", "16.5 GiB", "25.9", "12.3", "abcdefgh"):
        assert said in shown, said


def test_an_engine_that_was_left_is_shown_with_a_way_to_stop_it(var: Path) -> None:
    run = loading(var)
    with store.opened(var / "bench.db") as db:
        (row,) = store.load(db, [run])
        roster.add(db, row, f"spark-compare-{run}", launch_for(row.plan.recipe))
    with lock.held(config.read(os.environ).lock):
        at = visit("runs.py")
        assert en("engines.title") not in text(at), "its worker is at it"
    at = visit("runs.py")
    assert en("engines.left", container=f"spark-compare-{run}") in text(at)
    at.button(key=f"stop-{run}").click().run()
    assert at.button(key=f"stop-{run}").disabled
    with store.opened(var / "bench.db") as db:
        assert [engine.stop for engine in roster.of(db)] == [True]

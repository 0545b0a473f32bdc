from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from bench.errors import BenchError
from engines import PORT, PYTHON, Exit, Launch, process
from engines.process import Note, Process
from tests.conftest import StartEngine, until

SLEEPER = "import sys, time; print('ready', sys.argv[1:], flush=True); time.sleep(600)"


def script(code: str, *words: str) -> Launch:
    return Launch(argv=(PYTHON, "-c", code, *words), port=0, served="m")


def started(launch: Launch, var: Path) -> Process:
    engine = process.start(launch, "run1", var)
    until(lambda: "ready" in engine.log_path.read_text(), engine)
    return engine


def test_the_port_that_was_taken_is_in_the_command_and_in_the_url(tmp_path: Path) -> None:
    engine = started(script(SLEEPER, "--port", PORT), tmp_path)
    port = engine.url.rpartition(":")[2]
    assert f"['--port', '{port}']" in engine.log_path.read_text()
    engine.stop()


def test_an_engine_that_ends_says_how(tmp_path: Path) -> None:
    engine = process.start(script("import sys; sys.exit('no such model')"), "run1", tmp_path)
    until(lambda: engine.poll() is not None)
    assert engine.poll() == Exit(code=1)
    assert "no such model" in engine.log_path.read_text()
    engine.stop()


def test_stop_ends_the_whole_group_even_one_that_ignores_sigterm(tmp_path: Path) -> None:
    stubborn = (
        "import signal, subprocess, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']);"
        "print('ready', child.pid, flush=True); time.sleep(600)"
    )
    engine = started(script(stubborn), tmp_path)
    child = int(engine.log_path.read_text().split()[1])
    engine.stop(patience=0.2)
    assert engine.poll() == Exit(code=-signal.SIGKILL)
    until(lambda: process.started_at(child) is None)
    engine.stop()  # once more does no harm


def test_a_stopped_engine_leaves_no_note(tmp_path: Path) -> None:
    engine = started(script(SLEEPER), tmp_path)
    assert (tmp_path / "engines" / "run1.json").exists()
    engine.stop()
    assert list((tmp_path / "engines").iterdir()) == []


def test_a_missing_program_is_named(tmp_path: Path) -> None:
    with pytest.raises(BenchError) as caught:
        process.start(Launch(argv=("/nope/llama-server",), port=0, served="m"), "run1", tmp_path)
    assert caught.value.fault.code == "program_missing"
    assert "/nope/llama-server" in str(caught.value)


def test_what_a_killed_worker_left_is_ended_by_the_next(tmp_path: Path) -> None:
    worker = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys, time; from pathlib import Path; from engines import *;"
            "from engines import process;"
            f"process.start(Launch(argv=(PYTHON, '-c', {SLEEPER!r}), port=0, served='m'),"
            "'run1', Path(sys.argv[1])); time.sleep(600)",
            str(tmp_path),
        ]
    )
    note = tmp_path / "engines" / "run1.json"
    until(lambda: note.exists() and note.stat().st_size > 0)
    engine = msgspec.json.decode(note.read_bytes(), type=Note)
    worker.kill()
    worker.wait()
    assert process.started_at(engine.pid) == engine.started  # it outlived its worker
    assert process.stop_strays(tmp_path) == ["run1"]
    assert process.started_at(engine.pid) is None
    assert not note.exists()


def test_a_process_that_only_has_the_same_id_is_left_alone(tmp_path: Path) -> None:
    stranger = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True
    )
    note = tmp_path / "engines" / "old.json"
    note.parent.mkdir()
    begun = process.started_at(stranger.pid)
    assert begun is not None
    note.write_bytes(msgspec.json.encode(Note(stranger.pid, begun - 1)))
    assert process.stop_strays(tmp_path) == []
    assert stranger.poll() is None
    assert not note.exists()
    os.killpg(stranger.pid, signal.SIGKILL)
    stranger.wait()


@pytest.mark.engine
def test_a_port_that_is_taken_ends_the_engine_with_the_reason_in_its_log(tmp_path: Path) -> None:
    from engines import Recipe, llama_cpp_local

    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        recipe = Recipe(
            engine="llama.cpp-local", model="m", path="/nope/m.gguf", context=256, slots=1
        )
        engine = process.start(
            llama_cpp_local.launch(recipe), "run1", tmp_path, port=holder.getsockname()[1]
        )
        until(lambda: engine.poll() is not None)
    assert engine.poll() == Exit(code=1)
    assert "couldn't bind" in engine.log_path.read_text()
    engine.stop()


@pytest.mark.engine
def test_a_file_that_is_no_model_ends_the_engine(tmp_path: Path) -> None:
    from engines import Recipe, llama_cpp_local

    file = tmp_path / "m.gguf"
    file.write_text("not a model")
    recipe = Recipe(engine="llama.cpp-local", model="m", path=str(file), context=256, slots=1)
    engine = process.start(llama_cpp_local.launch(recipe), "run1", tmp_path)
    until(lambda: engine.poll() is not None)
    assert engine.poll() == Exit(code=1)
    assert "failed to load model" in engine.log_path.read_text()
    engine.stop()


@pytest.mark.engine
def test_a_killed_engine_is_seen_at_once_and_its_port_is_free(
    tmp_path: Path, demo_engine: StartEngine
) -> None:
    argv = demo_engine("smollm2-135m").facts()["argv"]
    launch = Launch(
        argv=tuple(PORT if argv[at - 1] == "--port" else word for at, word in enumerate(argv)),
        port=0,
        served="m",
    )
    engine = process.start(launch, "run1", tmp_path)
    until(lambda: "listening" in engine.log_path.read_text(), engine)
    os.kill(engine.facts()["pid"], signal.SIGKILL)
    deadline = time.monotonic() + 20
    while engine.poll() is None:
        assert time.monotonic() < deadline
    assert engine.poll() == Exit(code=-signal.SIGKILL)
    with socket.socket() as again:
        again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        again.bind(("127.0.0.1", int(engine.url.rpartition(":")[2])))
    engine.stop()

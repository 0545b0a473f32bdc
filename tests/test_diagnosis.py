"""Root causes, in recorded logs and in single lines of many engines."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.running import diagnosis
from bench.running.diagnosis import Diagnosis, diagnose, read_lines
from bench.running.symptoms import SYMPTOMS
from bench.text import LANGUAGES, words

LOGS = Path(__file__).parent / "data" / "logs"


def of(name: str, exit_code: int | None = None, oom_killed: bool = False) -> Diagnosis | None:
    return diagnose(read_lines(LOGS / name), exit_code, oom_killed)


def test_the_cause_is_found_forty_lines_above_the_last_line() -> None:
    found = of("vllm_deep_gemm.log", exit_code=1)
    log = (LOGS / "vllm_deep_gemm.log").read_text(encoding="utf-8").splitlines()
    assert found and found.number
    assert (found.code, found.ends) == ("kernel_deep_gemm", True)
    assert "Unknown SF transformation" in found.line == log[found.number - 1][: len(found.line)]
    assert len(log) - found.number >= 40
    assert "Engine core initialization failed" in log[-1]
    assert "VLLM_USE_DEEP_GEMM=0" in found.remedy(words("en"))


def test_too_little_free_memory_gives_a_share_that_fits() -> None:
    found = of("vllm_free_memory.log")
    assert found and found.code == "memory_at_start"
    assert found.fields == {"free": "101.4", "total": "121.7", "share": "0.87", "wanted": "105.9",
                            "suggestion": "0.82"}  # fmt: skip
    assert "to 0.82 or less" in found.remedy(words("en"))
    assert "0.82" in found.remedy(words("zh-TW"))


def test_a_diagnosis_is_kept_with_a_run_as_cause_and_remedy() -> None:
    found = of("vllm_free_memory.log")
    assert found
    tell = words("en")
    assert tell.fault(found.fault).startswith(found.cause(tell))
    assert found.remedy(tell) in tell.fault(found.fault)


def test_a_repeated_warning_is_no_cause_while_the_engine_runs() -> None:
    assert of("vllm_warning_running.log") is None
    assert of("vllm_warning_running.log", exit_code=0) is None


def test_a_warning_gives_way_to_the_cause_after_it() -> None:
    found = of("vllm_warning_then_port.log", exit_code=1)
    assert found and (found.code, found.fields) == ("port_taken", {"port": "8000"})


def test_a_warning_is_the_cause_when_the_engine_ended_and_nothing_else_is_known() -> None:
    lines = (LOGS / "vllm_warning_running.log").read_text(encoding="utf-8").splitlines()[:-1]
    assert diagnose(lines) is None
    found = diagnose(lines, exit_code=1)
    assert found and found.code == "kernel_deep_gemm"


def test_a_kill_without_a_word_is_told_from_a_container_s_limit() -> None:
    killed, limited = of("vllm_killed.log", 137), of("vllm_killed.log", 137, oom_killed=True)
    assert killed and killed.code == "exit_killed"
    assert limited and limited.code == "exit_memory_limit"
    assert of("vllm_killed.log") is None


@pytest.mark.parametrize(
    ("status", "code"),
    [(132, "exit_illegal"), (139, "exit_crash"), (-11, "exit_crash"), (134, "exit_crash"),
     (126, "exit_not_program"), (127, "exit_no_command"), (3, "exit_unknown"), (-9, "exit_killed")],
)  # fmt: skip
def test_an_exit_status_speaks_when_the_log_does_not(status: int, code: str) -> None:
    found = diagnose(["nothing of note"], exit_code=status)
    assert found and found.code == code


@pytest.mark.parametrize("status", [None, 0, 130, 143])
def test_an_engine_that_was_stopped_has_no_problem(status: int | None) -> None:
    assert diagnose(["nothing of note"], exit_code=status) is None


def test_an_engine_on_the_processor_is_advice_and_no_end() -> None:
    found = of("llama_cpp_cpu.log")
    assert found and (found.code, found.ends, found.number) == ("gpu_not_used", False, 1)


def test_an_unknown_error_is_shown_in_its_own_words_and_the_first_one_counts() -> None:
    found = of("vllm_chained.log", exit_code=1)
    assert found and found.code == "unknown"
    assert found.fields == {"message": "KeyError: 'experts.w13_weight'"}


def test_what_was_logged_before_an_engine_was_ready_is_no_cause_of_its_later_end() -> None:
    log = ["ERROR Stale file handle", "INFO:     Application startup complete.", "later"]
    found = diagnose(log, exit_code=1)
    assert found and found.code == "exit_unknown"


@pytest.mark.parametrize(
    "name",
    ["vllm_cpu_startup.log", "vllm_spark_new.log", "vllm_spark_old.log",
     "llama_cpp_smollm2.log", "llama_cpp_spark_old.log"],
)  # fmt: skip
def test_a_good_start_has_no_problem(name: str) -> None:
    assert of(name) is None


@pytest.mark.parametrize(
    ("name", "code"),
    [("llama_cpp_missing.log", "model_missing"), ("llama_cpp_truncated.log", "model_damaged"),
     ("llama_cpp_cut_header.log", "model_damaged"), ("llama_cpp_folder.log", "model_not_gguf"),
     ("llama_cpp_safetensors.log", "model_not_gguf"), ("llama_cpp_port.log", "port_taken"),
     ("llama_cpp_architecture.log", "architecture")],
)  # fmt: skip
def test_what_llama_cpp_really_writes_is_understood(name: str, code: str) -> None:
    found = of(name, exit_code=1)
    assert found and found.code == code


LINES: list[tuple[str, str, dict[str, str]]] = [
    ("ValueError: Free memory on device (98.2/121.69 GiB) on startup is less than desired GPU "
     "memory utilization (0.9, 109.52 GiB). Decrease GPU memory utilization", "memory_at_start",
     {"suggestion": "0.79", "free": "98.2"}),
    ("ValueError: To serve at least one request with the model's max seq len (262144), (24.0 GiB "
     "KV cache is needed, which is larger than the available KV cache memory (3.18 GiB). Based on "
     "the available memory, the estimated maximum model length is 34736. Try", "memory_context",
     {"context": "262144", "fits": "34736"}),
    ("ValueError: To serve at least one request with the models's max seq len (1048576), (24.00 "
     "GiB KV cache is needed, which is larger than the available KV cache memory (9.97 GiB).",
     "memory_context", {"context": "1048576", "fits": "?"}),
    ("ValueError: The model's max seq len (32768) is larger than the maximum number of tokens that "
     "can be stored in KV cache (7344).", "memory_context", {"context": "32768", "fits": "7344"}),
    ("ValueError: No available memory for the cache blocks. Try increasing", "memory_no_cache", {}),
    ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", "memory_gpu", {}),
    ("ggml_backend_cuda_buffer_type_alloc_buffer: allocating 2048 MiB on device 0: cudaMalloc "
     "failed: out of memory", "memory_gpu", {}),
    ("RuntimeError: Assertion error (csrc/apis/hyperconnection.hpp:56): Unsupported architecture",
     "kernel_deep_gemm", {}),
    ("RuntimeError: Assertion error (csrc/apis/gemm.hpp:46): Unknown recipe",
     "kernel_deep_gemm", {}),
    ("RuntimeError: CUDA driver error (csrc/jit/handle.hpp:90): 200 (CUDA_ERROR_INVALID_IMAGE, "
     "device kernel image is invalid)", "kernel_missing", {}),
    ("Failed to open: /opt/deep_gemm/include/sm121_fp8_gemm.cuh", "kernel_missing", {}),
    ("torch.AcceleratorError: CUDA error: no kernel image is available for execution on the device",
     "kernel_missing", {}),
    ("ptxas fatal   : Value 'sm_121a' is not defined for option 'gpu-name'", "kernel_missing", {}),
    ("ValueError: Model architectures ['NewForCausalLM'] are not supported for now. Supported",
     "architecture", {"name": "'NewForCausalLM'"}),
    ("llama_model_load: error loading model: error loading model architecture: unknown model "
     "architecture: 'gemma9'", "architecture", {"name": "gemma9"}),
    ("ValueError: The checkpoint you are trying to load has model type `qwen9` but Transformers "
     "does not recognize this architecture.", "architecture", {"name": "qwen9"}),
    ("OSError: /models/x is not a local folder and is not a valid model identifier listed on",
     "model_missing", {"path": "/models/x"}),
    ("huggingface_hub.errors.HFValidationError: Repo id must be in the form 'repo_name' or "
     "'namespace/repo_name': '/models/x'. Use `repo_type`", "model_missing", {"path": "/models/x"}),
    ("OSError: /models/x does not appear to have a file named config.json.", "model_incomplete",
     {"path": "/models/x"}),
    ("OSError: It looks like the config file at '/models/a.gguf' is not a valid JSON file.",
     "model_is_gguf", {"path": "/models/a.gguf"}),
    ("safetensors_rust.SafetensorError: Error while deserializing header: "
     "MetadataIncompleteBuffer", "model_damaged", {}),
    ("huggingface_hub.errors.GatedRepoError: 403 Client Error.", "model_gated", {}),
    ("huggingface_hub.errors.LocalEntryNotFoundError: An error happened while trying to locate",
     "model_offline", {}),
    ("OSError: [Errno 116] Stale file handle: '/models/x/model-00003.safetensors'",
     "storage_gone", {}),
    ("ValueError: User-specified max_model_len (65536) is greater than the derived max_model_len "
     "(max_position_embeddings=32768 or model_max_length=None", "context_beyond_model",
     {"context": "65536", "limit": "32768"}),
    ("ValueError: As of transformers v4.44, default chat template is no longer allowed, so you "
     "must provide a chat template if the tokenizer does not define one.", "chat_template", {}),
    ("Error response from daemon: driver failed programming external connectivity on endpoint x: "
     "Bind for 127.0.0.1:8000 failed: port is already allocated", "port_taken", {"port": "8000"}),
    ("Error starting userland proxy: listen tcp4 127.0.0.1:8195: bind: address already in use",
     "port_taken", {"port": "8195"}),
    ("OSError: [Errno 98] Address already in use", "port_taken", {"port": "?"}),
    ('could not select device driver "" with capabilities: [[gpu]]', "nvidia_toolkit", {}),
    ("Unknown runtime specified nvidia", "nvidia_toolkit", {}),
    ("RuntimeError: Found no NVIDIA driver on your system.", "gpu_missing", {}),
    ("RuntimeError: The NVIDIA driver on your system is too old (found version 12080).",
     "driver_old", {}),
    ("exec /usr/bin/vllm: exec format error", "image_other_machine", {}),
    ("no matching manifest for linux/arm64/v8 in the manifest list entries",
     "image_other_machine", {}),
    ("No such image: vllm/vllm-openai:v0.99", "image_missing",
     {"image": "vllm/vllm-openai:v0.99"}),
    ('manifest for x/y:z not found: manifest unknown', "image_unknown", {}),
    ("Get \"https://registry.test/v2/\": dial tcp: lookup registry.test on 192.0.2.53:53: no such "
     "host", "image_offline", {"name": "registry.test"}),
    ("Error while fetching server API version: ('Connection aborted.', PermissionError(13, "
     "'Permission denied'))", "docker_denied", {}),
    ("Error while fetching server API version: ('Connection aborted.', FileNotFoundError(2, 'No "
     "such file or directory'))", "docker_down", {}),
    ("Host key verification failed.", "host_key", {}),
    ("spark-b@192.0.2.7: Permission denied (publickey,password).", "ssh_denied", {}),
    ('invalid mount config for type "bind": bind source path does not exist: /nas/models',
     "mount_missing", {"path": "/nas/models"}),
    ('Conflict. The container name "/engine-a" is already in use by container "4f1c".',
     "name_taken", {"name": "engine-a"}),
    ("vllm: error: unrecognized arguments: --mxfp4-backend CUTLASS", "flag_unknown",
     {"flag": "--mxfp4-backend"}),
    ("error: invalid argument: --load-mode", "flag_unknown", {"flag": "--load-mode"}),
    ("vllm: error: argument subparser: invalid choice: 'vllm' (choose from 'serve')",
     "command_twice", {}),
    ('exec: "vllm": executable file not found in $PATH: unknown', "command_missing",
     {"name": "vllm"}),
    ("ImportError: libcudart.so.13: cannot open shared object file: No such file",
     "library_missing", {"name": "libcudart.so.13"}),
    ("ImportError: libcuda.so.1: cannot open shared object file: No such file", "gpu_missing", {}),
    ("OSError: [Errno 28] No space left on device", "disk_full", {}),
    ("error setting rlimit type 8: operation not permitted", "memory_lock", {}),
    ("PermissionError: [Errno 13] Permission denied: '/models/x/config.json'", "file_denied",
     {"path": "/models/x/config.json"}),
    ("ValueError: Unknown quantization method: modelopt_x. Must be one of", "quantization",
     {"name": "modelopt_x"}),
]  # fmt: skip


@pytest.mark.parametrize(("line", "code", "fields"), LINES, ids=[line[:40] for line, *_ in LINES])
def test_lines_of_engines_and_docker(line: str, code: str, fields: dict[str, str]) -> None:
    noise = "(EngineCore pid=340) ERROR 08-28 23:29:10 [core.py:1104] "
    for form in (line, noise + line, f"\x1b[31m{line}\x1b[0m\r\n"):
        found = diagnose(["before", form, "RuntimeError: something later"])
        assert found is not None
        assert (found.code, found.number) == (code, 2)
        assert fields.items() <= found.fields.items()
        for language in LANGUAGES:
            assert found.cause(words(language)) and found.remedy(words(language))


@pytest.mark.parametrize("code", sorted({symptom.code for symptom in SYMPTOMS}))
def test_every_cause_has_a_sentence_and_a_remedy_in_both_languages(code: str) -> None:
    for language in LANGUAGES:
        assert f"diagnosis.{code}.cause" in words(language)
        assert f"diagnosis.{code}.remedy" in words(language)


def test_a_log_of_any_size_is_read_in_little_memory(tmp_path: Path) -> None:
    def endless() -> Iterator[str]:
        for _ in range(100_000):
            yield "(EngineCore pid=340) ERROR 08-28 23:29:10 [x.py:1] Stale file handle\n"

    tracemalloc.start()
    found = diagnose(endless())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found and (found.code, found.number) == ("storage_gone", 1)
    assert peak < 2_000_000
    file = tmp_path / "one-line.log"
    file.write_text("x" * 1_000_000)
    assert max(map(len, read_lines(file))) == diagnosis.LINE_LIMIT


def test_the_command_prints_cause_remedy_and_line(capsys: pytest.CaptureFixture[str]) -> None:
    status = diagnosis.main([str(LOGS / "vllm_free_memory.log")])
    printed = capsys.readouterr().out.splitlines()
    assert status == 1
    assert printed[0].startswith("The engine wanted 105.9 GiB of memory (0.87 of 121.7 GiB)")
    assert "0.82" in printed[1]
    assert printed[2].startswith("Seen in line 4: (EngineCore pid=340) ERROR")


def test_the_command_speaks_chinese_and_takes_the_exit_status(
    capsys: pytest.CaptureFixture[str],
) -> None:
    log = str(LOGS / "vllm_killed.log")
    assert diagnosis.main([log, "--exit-code", "137", "--language", "zh-TW"]) == 1
    assert "結束碼 137" in capsys.readouterr().out
    assert diagnosis.main([log]) == 0
    assert capsys.readouterr().out == "No known problem was found in this log.\n"
    assert diagnosis.main([str(LOGS / "llama_cpp_cpu.log")]) == 0
    assert "GPU is not used" in capsys.readouterr().out


def test_a_log_that_is_not_there_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert diagnosis.main(["/nowhere/x.log"]) == 2
    assert "/nowhere/x.log cannot be read" in capsys.readouterr().err

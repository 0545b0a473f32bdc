"""Facts of a machine, from stand-in files and from this one."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.errors import BenchError
from bench.machine import host
from bench.machine.host import GIB, Holder, Memory

SPARK = Path(__file__).parent / "data" / "spark"
CONTAINER = "4f1c" * 16


def meminfo(folder: Path, **kilobytes: int) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    lines = [f"{name}:{size:>16} kB" for name, size in kilobytes.items()]
    (folder / "meminfo").write_text("\n".join(lines) + "\nHugePages_Total:       0\n")
    return folder


def process(proc: Path, pid: int, rss: int, name: str = "python3", **files: str) -> None:
    folder = proc / str(pid)
    folder.mkdir()
    (folder / "status").write_text(f"Name:\t{name}\nVmRSS:\t{rss:>9} kB\n")
    for file, text in files.items():
        (folder / file).write_text(text)


def test_a_spark_is_known_by_its_gpu_and_its_memory_comes_from_meminfo() -> None:
    seen = host.facts(SPARK)
    assert seen.gb10
    assert seen.product == "NVIDIA_DGX_Spark"
    assert seen.gpu == "NVIDIA GB10"
    assert seen.bandwidth == 273e9
    assert seen.memory == Memory(
        total=127_600_748 * 1024,
        available=121_004_032 * 1024,
        free=58_720_256 * 1024,
        page_cache=(61_341_696 - 131_072) * 1024,
        swap_total=16_777_212 * 1024,
        swap_free=16_777_212 * 1024,
    )
    assert round(seen.memory.total / GIB, 2) == 121.69
    assert (seen.load, seen.uptime) == (0.42, 90211.4)


def test_nvidia_smi_is_never_asked_for_memory() -> None:
    asked: list[str] = []

    def ask(arguments: object) -> str:
        asked.append(" ".join(arguments))  # type: ignore[call-overload]
        return "[N/A]"

    host.read(SPARK / "proc", SPARK / "dmi", ask)
    assert asked == ["-L", "--query-compute-apps=pid --format=csv,noheader"]


@pytest.mark.parametrize(
    "text",
    [
        "GPU 0: NVIDIA GB10 (UUID: GPU-5d0f3c11-0000-0000-0000-000000000000)",
        "    Product Name                          : NVIDIA GB10",
        "NVIDIA GB10, 580.95.05",
        "NVIDIA GB10",
        "| NVIDIA-SMI 580.95.05    Driver Version: 580.95.05    CUDA Version: 13.0   |\n"
        "|   0  NVIDIA GB10                    On  |   0000000F:01:00.0 Off |      N/A |\n"
        "| N/A   41C    P8              5W /  N/A  |      Not Supported     |   0%    |",
    ],
)
def test_the_gpu_is_found_in_every_form_that_nvidia_smi_prints(text: str, tmp_path: Path) -> None:
    meminfo(tmp_path, MemTotal=1, MemAvailable=1, MemFree=1)
    (tmp_path / "nvidia-smi.txt").write_text(text)
    seen = host.facts(tmp_path)
    assert (seen.gpu, seen.gb10) == ("NVIDIA GB10", True)


def test_another_machine_is_no_spark_and_its_bandwidth_is_unknown(tmp_path: Path) -> None:
    meminfo(tmp_path, MemTotal=100, MemAvailable=50, MemFree=10)
    seen = host.facts(tmp_path)
    assert (seen.gb10, seen.gpu, seen.product, seen.bandwidth) == (False, None, None, None)
    assert (seen.load, seen.uptime, seen.holders) == (None, None, ())


def test_shared_memory_is_no_page_cache_and_swap_may_be_absent(tmp_path: Path) -> None:
    meminfo(tmp_path, MemTotal=100, MemAvailable=50, MemFree=10, Cached=40, Shmem=15)
    seen = host.memory(tmp_path)
    assert seen.page_cache == 25 * 1024
    assert (seen.swap_total, seen.swap_free) == (0, 0)


def test_large_processes_are_named_with_their_container(tmp_path: Path) -> None:
    meminfo(tmp_path, MemTotal=100, MemAvailable=50, MemFree=10)
    process(tmp_path, 7, 900)
    process(tmp_path, 12, 3_000_000, cmdline="/usr/bin/ollama\0serve\0")
    process(
        tmp_path,
        31,
        9_000_000,
        cmdline="/opt/vllm/bin/vllm\0serve\0/models/x\0--port\0",
        smaps_rollup="00000000-ffff [rollup]\nRss: 9000000 kB\nPss:    8388608 kB\n",
        cgroup=f"0::/system.slice/docker-{CONTAINER}.scope\n",
    )
    (tmp_path / "44").mkdir()  # ended while we looked
    assert host.holders(tmp_path) == (
        Holder(pid=31, name="vllm serve /models/x", bytes=8 * GIB, measure="pss",
               container="4f1c4f1c4f1c"),
        Holder(pid=12, name="ollama serve", bytes=3_000_000 * 1024, measure="rss"),
    )  # fmt: skip


def test_only_the_largest_few_are_named(tmp_path: Path) -> None:
    for pid in range(1, 10):
        process(tmp_path, pid, pid * 2_000_000)
    assert [held.pid for held in host.holders(tmp_path, most=3)] == [9, 8, 7]


def test_a_gpu_user_is_named_though_the_kernel_counts_little_for_it(tmp_path: Path) -> None:
    meminfo(tmp_path, MemTotal=100, MemAvailable=50, MemFree=10)
    process(tmp_path, 8, 2_000, name="comfyui")
    process(tmp_path, 9, 2_000)
    (tmp_path / "compute-apps.csv").write_text("8\n")
    held = host.facts(tmp_path).holders
    assert [(one.pid, one.name, one.gpu) for one in held] == [(8, "comfyui", True)]


def test_available_memory_is_one_number(tmp_path: Path) -> None:
    meminfo(tmp_path, MemTotal=100, MemFree=10, MemAvailable=50)
    assert host.available(tmp_path) == 50 * 1024


def test_missing_files_and_lines_are_said(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match="--host-facts") as missing:
        host.facts(tmp_path / "nowhere")
    assert missing.value.fault.code == "meminfo_missing"
    meminfo(tmp_path, MemTotal=100, MemFree=10)
    with pytest.raises(BenchError, match="no line for MemAvailable"):
        host.memory(tmp_path)
    with pytest.raises(BenchError, match="no line for MemAvailable"):
        host.available(tmp_path)


def test_this_machine_can_be_read() -> None:
    seen = host.read()
    assert 0 < seen.memory.free <= seen.memory.total
    assert 0 < host.available() <= seen.memory.total

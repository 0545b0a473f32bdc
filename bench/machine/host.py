"""What this machine is and what is using its memory, read from files.

Everything comes from a ``/proc`` folder, the product name that the firmware tells, and the text of
``nvidia-smi``, so that stand-ins can take their place. On a GB10 the GPU shares the machine's
memory and nvidia-smi answers ``[N/A]`` for it: memory is read from ``/proc/meminfo`` and nowhere
else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from bench.errors import BenchError

GIB = 1024**3
GB10_BANDWIDTH = 273e9
"""Bytes a second of a GB10's memory, as published by NVIDIA."""

Ask = Callable[[Sequence[str]], str | None]
"""Runs nvidia-smi with these arguments: its output, or None where there is none."""


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """The machine's memory in bytes, from ``/proc/meminfo``."""

    total: int
    available: int
    """What new work could get without swapping; the page cache counts as available."""
    free: int
    """What nothing uses at all: the figure that CUDA takes for free memory on a GB10."""
    page_cache: int
    """Copies of files that the kernel gives up when asked (Cached − Shmem)."""
    swap_total: int
    swap_free: int


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """A process that holds much memory, or one that uses the GPU."""

    pid: int
    name: str
    bytes: int
    measure: Literal["pss", "rss"]
    """PSS shares common pages out among their users; RSS counts them for each."""
    container: str | None = None
    """First 12 characters of its container's id."""
    gpu: bool = False
    """It uses the GPU; what it holds there is not in ``bytes``, the kernel does not tell."""


class Host(msgspec.Struct, frozen=True, kw_only=True):
    product: str | None
    gpu: str | None
    gb10: bool
    memory: Memory
    load: float | None
    """Processes that wanted to run, mean of the last minute."""
    uptime: float | None
    """Seconds since the machine started."""
    holders: tuple[Holder, ...] = ()
    """Largest first."""
    bandwidth: float | None = None
    """Bytes a second that its memory can deliver; None where unknown."""


def read(
    proc: Path = Path("/proc"),
    dmi: Path = Path("/sys/class/dmi/id"),
    nvidia_smi: Ask = lambda arguments: None,
) -> Host:
    """The machine as it is now. Raises BenchError when its memory cannot be read."""
    product = _text(dmi / "product_name")
    gpu = _gpu_name(nvidia_smi(("-L",)) or "")
    gb10 = "GB10" in (gpu or "") or "DGX_Spark" in (product or "").replace(" ", "_")
    users = _pids(nvidia_smi(("--query-compute-apps=pid", "--format=csv,noheader")) or "")
    return Host(
        product=product,
        gpu=gpu,
        gb10=gb10,
        memory=memory(proc),
        load=_first_number(proc / "loadavg"),
        uptime=_first_number(proc / "uptime"),
        holders=holders(proc, gpu_users=users),
        bandwidth=GB10_BANDWIDTH if gb10 else None,
    )


def facts(folder: Path) -> Host:
    """The machine that a folder of stand-in files describes.

    ``proc/meminfo`` (or ``meminfo``) is required; ``proc/loadavg``, ``proc/uptime``,
    ``proc/<pid>/status``, ``dmi/product_name`` (or ``product_name``), ``nvidia-smi*`` (what
    ``nvidia-smi -L`` or ``nvidia-smi`` prints) and ``compute-apps*`` are read where they are.
    """
    proc = folder / "proc" if (folder / "proc").is_dir() else folder
    dmi = folder / "dmi" if (folder / "dmi").is_dir() else folder

    def ask(arguments: Sequence[str]) -> str | None:
        wanted = "nvidia-smi*" if arguments == ("-L",) else "compute-apps*"
        return next((_text(file) for file in sorted(folder.glob(wanted))), None)

    return read(proc, dmi, ask)


def memory(proc: Path = Path("/proc")) -> Memory:
    """The memory figures. Raises BenchError ``meminfo_missing`` or ``meminfo_incomplete``."""
    found = dict(_meminfo(proc))

    def of(name: str) -> int:
        try:
            return found[name]
        except KeyError:
            raise BenchError("meminfo_incomplete", path=str(proc / "meminfo"), name=name) from None

    return Memory(
        total=of("MemTotal"),
        available=of("MemAvailable"),
        free=of("MemFree"),
        page_cache=max(0, found.get("Cached", 0) - found.get("Shmem", 0)),
        swap_total=found.get("SwapTotal", 0),
        swap_free=found.get("SwapFree", 0),
    )


def available(proc: Path = Path("/proc")) -> int:
    """MemAvailable in bytes: three lines of one file, cheap enough to read twice a second."""
    for name, size in _meminfo(proc):
        if name == "MemAvailable":
            return size
    raise BenchError("meminfo_incomplete", path=str(proc / "meminfo"), name="MemAvailable")


def holders(
    proc: Path = Path("/proc"),
    least: int = GIB,
    most: int = 5,
    gpu_users: frozenset[int] = frozenset(),
) -> tuple[Holder, ...]:
    """The processes that hold at least ``least`` bytes or use the GPU, largest first."""
    sizes = {pid: size for pid in _processes(proc) if (size := _rss(proc / str(pid))) is not None}
    large = [pid for pid, size in sizes.items() if size >= least or pid in gpu_users]
    large.sort(key=lambda pid: (-sizes[pid], pid))
    return tuple(_holder(proc / str(pid), sizes[pid], pid in gpu_users) for pid in large[:most])


def _holder(folder: Path, rss: int, gpu: bool) -> Holder:
    pss = _kilobytes(_text(folder / "smaps_rollup") or "", "Pss")
    return Holder(
        pid=int(folder.name),
        name=_name(folder),
        bytes=rss if pss is None else pss,
        measure="rss" if pss is None else "pss",
        container=_container(folder),
        gpu=gpu,
    )


def _meminfo(proc: Path) -> Iterator[tuple[str, int]]:
    try:
        with (proc / "meminfo").open(encoding="ascii", errors="replace") as file:
            for line in file:
                if match := re.match(r"(\w+):\s+(\d+) kB", line):
                    yield match[1], int(match[2]) * 1024
    except OSError as fault:
        raise BenchError(
            "meminfo_missing", path=str(proc / "meminfo"), reason=fault.strerror or ""
        ) from fault


def _processes(proc: Path) -> Iterator[int]:
    return (int(entry.name) for entry in proc.iterdir() if entry.name.isdigit())


def _rss(folder: Path) -> int | None:
    """None for a kernel thread, and for a process that ended while we looked."""
    return _kilobytes(_text(folder / "status") or "", "VmRSS")


def _kilobytes(text: str, name: str) -> int | None:
    match = re.search(rf"^{name}:\s+(\d+) kB", text, re.MULTILINE)
    return int(match[1]) * 1024 if match else None


def _name(folder: Path) -> str:
    """The program and its first two arguments, no longer than a line of a table."""
    command = (_text(folder / "cmdline") or "").split("\0")
    words = [Path(command[0]).name, *command[1:3]] if command[0] else []
    if not words:
        match = re.search(r"^Name:\s+(.+)$", _text(folder / "status") or "", re.MULTILINE)
        words = [match[1] if match else "?"]
    return " ".join(words).strip()[:80]


def _container(folder: Path) -> str | None:
    match = re.search(r"[0-9a-f]{64}", _text(folder / "cgroup") or "")
    return match[0][:12] if match else None


def _gpu_name(text: str) -> str | None:
    """The GPU in what ``nvidia-smi -L``, ``-q`` or plain ``nvidia-smi`` printed."""
    for pattern in (
        r"GPU \d+: (.+?) \(UUID",
        r"Product Name\s*:\s*(.+)",
        r"^\|\s+\d+\s+(NVIDIA \w+(?: [\w-]+)*)\s{2,}",
        r"^(NVIDIA (?!System|-SMI)[\w ]*\w)\s*(?:,|$)",
    ):
        if match := re.search(pattern, text, re.MULTILINE):
            return match[1].strip()
    return None


def _pids(text: str) -> frozenset[int]:
    return frozenset(int(word) for word in re.findall(r"^\s*(\d+)\b", text, re.MULTILINE))


def _first_number(path: Path) -> float | None:
    match = re.match(r"[\d.]+", _text(path) or "")
    return float(match[0]) if match else None


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None

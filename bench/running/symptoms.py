"""What engines and Docker write when a start fails, and which cause each line stands for.

A symptom is a piece of text that a line must hold, and where needed a pattern that must match and
whose groups are the figures of the sentence. Order is no matter: the first line of a log that shows
a cause decides (`diagnosis.py`). The sentences are in data/text/diagnosis.toml.
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec

Weight = Literal["cause", "advice", "vague"]
"""A cause ends a start. Advice does not: the engine runs, but not as it should. A vague line only
says that something failed: it counts when nothing better is found."""


class Symptom(msgspec.Struct, frozen=True, kw_only=True):
    code: str
    text: str
    """Must be in the line, as it is written here."""
    pattern: re.Pattern[str] | None = None
    weight: Weight = "cause"


def _cause(code: str, *texts: str) -> tuple[Symptom, ...]:
    return tuple(Symptom(code=code, text=text) for text in texts)


def _weighed(weight: Weight, code: str, *texts: str) -> tuple[Symptom, ...]:
    return tuple(Symptom(code=code, text=text, weight=weight) for text in texts)


def _read(code: str, text: str, pattern: str, weight: Weight = "cause") -> tuple[Symptom, ...]:
    return (Symptom(code=code, text=text, pattern=re.compile(pattern), weight=weight),)


MEMORY = (
    *_read(
        "memory_at_start",
        "less than desired GPU memory utilization",
        r"\((?P<free>[\d.]+)/(?P<total>[\d.]+) GiB\).*utilization \((?P<share>[\d.]+), "
        r"(?P<wanted>[\d.]+) GiB\)",
    ),
    *_read(
        "memory_context",
        "larger than the available KV cache memory",
        r"max seq len \((?P<context>\d+)\)(?:.*maximum model length is (?P<fits>\d+))?",
    ),
    *_read(
        "memory_context",
        "is larger than the maximum number of tokens that can be stored in KV cache",
        r"max seq len \((?P<context>\d+)\).*KV cache \((?P<fits>\d+)\)",
    ),
    *_cause("memory_no_cache", "No available memory for the cache blocks"),
    *_cause("memory_shared", "Error in memory profiling"),
    *_cause(
        "memory_gpu", "CUDA out of memory", "CUDA error: out of memory", "torch.OutOfMemoryError",
        "cudaErrorMemoryAllocation", "NV_ERR_NO_MEMORY", "cudaMalloc failed: out of memory",
        "failed to allocate CUDA", "unable to allocate CUDA", "cudaMemGetInfo",
        "failed to allocate buffer for kv cache",
    ),
    *_cause("memory_machine", "Cannot allocate memory", "DefaultCPUAllocator: can't allocate"),
    *_cause("memory_lock", "error setting rlimit type 8"),
    *_cause("memory_shm", "insufficient shared memory (shm)", "Bus error (core dumped)"),
)  # fmt: skip

KERNELS = (
    *_cause(
        "kernel_deep_gemm", "Unknown SF transformation",
    ),
    *_read("kernel_deep_gemm", "Assertion error (", r"\.hpp:\d+\): (?:Unknown|Unsupported) "),
    *_cause(
        "kernel_missing", "no kernel image is available", "CUDA_ERROR_INVALID_IMAGE",
        "CUDA_ERROR_NO_BINARY_FOR_GPU", "compiled without support for the current GPU architecture",
        "is not defined for option 'gpu-name'", "is not supported on this GPU architecture",
    ),
    *_read("kernel_missing", "Failed to open:", r"Failed to open: .*sm_?\d+"),
    *_read("kernel_missing", "ptxas fatal", r"ptxas fatal.*sm_"),
    *_cause(
        "kernel_crashed", "an illegal memory access was encountered", "unspecified launch failure",
        "CUDA_ERROR_ILLEGAL_ADDRESS", "device-side assert triggered", "misaligned address",
        "CUDA error: an illegal instruction",
    ),
    *_read(
        "quantization", "Unknown quantization method",
        r"Unknown quantization method: ?'?(?P<name>[\w-]+)",
    ),
    *_read(
        "quantization", "is not supported for the current GPU",
        r"quantization method '?(?P<name>[\w.-]+)'? is not supported for the current GPU",
    ),
    *_read("quantization", "invalid ggml type", r"invalid ggml type (?P<name>\d+)"),
)  # fmt: skip

MODEL = (
    *_read(
        "architecture", "are not supported for now",
        r"Model architectures \[(?P<name>[^\]]+)\] are not supported",
    ),
    *_read("architecture", "unknown model architecture", r"architecture: '(?P<name>[^']+)'"),
    *_read(
        "architecture", "does not recognize this architecture",
        r"model type [`'](?P<name>[^`']+)[`'] but Transformers",
    ),
    *_cause("remote_code", "trust_remote_code=True", "contains custom code which must be executed"),
    *_read("model_missing", "failed to open GGUF file", r"file '(?P<path>[^']+)'"),
    *_read(
        "model_missing", "is not a local folder and is not a valid model identifier",
        r"(?P<path>\S+) is not a local folder",
    ),
    *_read(
        "model_missing", "Invalid repository ID or local directory specified",
        r"specified: '(?P<path>[^']+)'",
    ),
    *_read("model_missing", "Repo id must", r"Repo id must.*'(?P<path>/[^']+)'"),
    *_read("model_incomplete", "does not appear to have a file named",
           r"(?P<path>\S+) does not appear to have a file named"),
    *_read("model_incomplete", "Cannot find any model weights", r"with `?(?P<path>[^`\s]+)"),
    *_read("model_no_tokenizer", "Can't load tokenizer for", r"tokenizer for '(?P<path>[^']+)'"),
    *_cause("model_not_gguf", "invalid magic characters", "failed to read magic"),
    *_read(
        "model_is_gguf", "is not a valid JSON file",
        r"config file at '(?P<path>[^']+\.gguf)' is not a valid JSON",
    ),
    *_read("model_is_gguf", "Unrecognized model in", r"Unrecognized model in (?P<path>\S+\.gguf)"),
    *_cause(
        "model_damaged", "is not within the file bounds", "failed to read key-value pairs",
        "failed to read tensor info", "failed to read tensor data", "MetadataIncompleteBuffer",
        "InvalidHeaderDeserialization", "Error while deserializing header", "HeaderTooLarge",
        "model is corrupted or incomplete",
    ),
    *_cause(
        "model_gated", "GatedRepoError", "You are trying to access a gated repo",
        "Cannot access gated repo", "401 Client Error", "403 Client Error",
    ),
    *_read("model_gated", "Access to model", r"Access to model .* is restricted"),
    *_cause("model_unknown", "RepositoryNotFoundError", "RevisionNotFoundError",
            "try pulling it first"),
    *_cause(
        "model_offline", "LocalEntryNotFoundError", "OfflineModeIsEnabled",
        "couldn't connect to 'https://huggingface.co'", "Cannot reach https://huggingface.co",
    ),
    *_read(
        "context_beyond_model", "is greater than the derived max_model_len",
        r"max_model_len \((?P<context>\d+)\).*derived max_model_len \(\D*(?P<limit>\d+)",
    ),
    *_cause(
        "chat_template", "default chat template is no longer allowed",
        "you must provide a chat template", "ailed to parse chat template",
        "jinja2.exceptions.TemplateError", "the supplied chat template is not supported",
        "template is not supported, falling back to chatml",
    ),
    *_cause("storage_gone", "Stale file handle", "Transport endpoint is not connected",
            "Input/output error"),
    *_read("file_denied", "Permission denied: '/", r"Permission denied: '(?P<path>/[^']+)'"),
    *_cause("disk_full", "No space left on device"),
)  # fmt: skip

_PORT = (
    r"[:,] ?(?P<port>\d{2,5})\)?(?:: (?:bind: )?address already in use| failed: port is already)"
    r"|in use|allocated"
)
MACHINE = (
    *_read("port_taken", "couldn't bind HTTP server socket", r"port: (?P<port>\d+)"),
    *_read("port_taken", "ddress already in use", _PORT),
    *_read("port_taken", "port is already allocated", _PORT),
    *_cause(
        "nvidia_toolkit", "could not select device driver", "nvidia-container-cli",
        "unknown or invalid runtime name: nvidia", "Unknown runtime specified nvidia",
    ),
    *_cause(
        "gpu_missing", "Found no NVIDIA driver", "No CUDA GPUs are available",
        "libcuda.so.1: cannot open shared object file", "Failed to infer device type",
        "no CUDA-capable device is detected",
    ),
    *_cause(
        "driver_old", "CUDA driver version is insufficient",
        "The NVIDIA driver on your system is too old",
        "forward compatibility was attempted on non supported HW", "unsatisfied condition: cuda>=",
    ),
    *_cause("image_other_machine", "exec format error", "no matching manifest for linux/arm64",
            "does not match the detected host platform", "no match for platform in manifest"),
    *_read("image_missing", "No such image", r"No such image: (?P<image>[\w./:@-]+)"),
    *_cause("image_unknown", "manifest unknown", "pull access denied"),
    *_cause("image_sign_in", "authentication required", "no basic auth credentials"),
    *_read("image_offline", "no such host", r"(?:lookup (?P<name>\S+)).*no such host"),
    *_cause("image_offline", "Temporary failure in name resolution", "TLS handshake timeout"),
    *_cause(
        "docker_denied", "permission denied while trying to connect to the Docker",
        "Got permission denied while trying to connect to the Docker",
        "PermissionError(13, 'Permission denied')",
    ),
    *_cause(
        "docker_down", "Cannot connect to the Docker daemon", "Is the docker daemon running",
        "Error while fetching server API version",
    ),
    *_cause("host_key", "Host key verification failed", "REMOTE HOST IDENTIFICATION HAS CHANGED",
            "not found in known_hosts"),
    *_cause("ssh_denied", "Permission denied (publickey"),
    *_read("mount_missing", "bind source path does not exist", r"not exist: (?P<path>[^\"\s]+)"),
    *_read("name_taken", "is already in use by container", r"name \W*(?P<name>[\w.-]+)\W"),
    *_cause("command_twice", "invalid choice: 'vllm'", "invalid choice: 'serve'"),
    *_read("flag_unknown", "unrecognized arguments", r"unrecognized arguments: (?P<flag>\S+)"),
    *_read("flag_unknown", "error: invalid argument", r"invalid argument: (?P<flag>\S+)"),
    *_read("flag_unknown", "invalid choice", r"argument (?P<flag>-\S+): invalid choice"),
    *_read("command_missing", "executable file not found in $PATH", r"exec: \W*(?P<name>[\w./-]+)"),
    *_read("library_missing", "cannot open shared object file",
           r"(?P<name>lib(?!cuda\.so)[\w.+-]+): cannot open"),
    *_read("library_missing", "No module named", r"No module named '(?P<name>[\w.]+)'"),
    *_read("library_missing", "undefined symbol", r"undefined symbol: (?P<name>\w+)"),
    *_read("files_open", "Too many open files", r"^(?!.*fd limit errors like)"),
    *_cause("start_timeout", "Timed out waiting for engine", "VLLM_ENGINE_READY_TIMEOUT_S"),
)  # fmt: skip

ADVICE = (
    *_weighed(
        "advice", "gpu_not_used", "no usable GPU found", "not compiled with GPU offload support",
        "failed to initialize CUDA", "falling back to CPU",
    ),
    *_read("gpu_not_used", "offloaded 0/", r"offloaded 0/\d+ layers", weight="advice"),
    *_read(
        "context_capped", "exceeds the training context of the model",
        r"slot context \((?P<context>\d+)\).*model \((?P<limit>\d+)\)", weight="advice",
    ),
)  # fmt: skip

VAGUE = (
    *_weighed("vague", "engine_failed", "Engine core initialization failed", "EngineDeadError",
              "Engine process failed to start", "EngineCore encountered a fatal error"),
    *_weighed("vague", "model_not_loaded", "failed to load model", "error loading model"),
)  # fmt: skip

SYMPTOMS: tuple[Symptom, ...] = (*MEMORY, *KERNELS, *MODEL, *MACHINE, *ADVICE, *VAGUE)

"""A recipe's command line as flags: split as a shell would, never given to one.

What a command may hold is one engine's server and its flags. Anything that only a shell
understands, another program or a second command is refused with its reason.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

import msgspec

from bench.errors import BenchError

PROGRAMS: Mapping[tuple[str, ...], str] = {
    ("vllm", "serve"): "vllm",
    ("python3", "-m", "vllm.entrypoints.openai.api_server"): "vllm",
    ("python", "-m", "vllm.entrypoints.openai.api_server"): "vllm",
    ("python3", "-m", "sglang.launch_server"): "sglang",
    ("python", "-m", "sglang.launch_server"): "sglang",
    ("sglang", "serve"): "sglang",
    ("llama-server",): "llama-cpp",
    ("trtllm-serve",): "trtllm",
    ("trtllm-serve", "serve"): "trtllm",
}
"""The servers that a command may start, and the runtime that each one is."""
_SHORT: Mapping[str, Mapping[str, str]] = {
    "vllm": {"tp": "tensor-parallel-size", "pp": "pipeline-parallel-size",
             "dp": "data-parallel-size", "q": "quantization"},
    "sglang": {"tp": "tensor-parallel-size", "dp": "data-parallel-size"},
    "llama-cpp": {"m": "model", "hf": "hf-repo", "c": "ctx-size", "np": "parallel",
                  "ngl": "n-gpu-layers", "fa": "flash-attn", "b": "batch-size",
                  "ub": "ubatch-size", "a": "alias", "ctk": "cache-type-k",
                  "ctv": "cache-type-v", "t": "threads"},
    "trtllm": {},
}  # fmt: skip
_PARAMETER = re.compile(r"\{(\w+)\}")
_DOUBLED = re.compile(r"(\{\{|\}\})|\{(\w+)\}")
"""The same in a word that doubles the braces it means, as Python's formats do."""


class Command(msgspec.Struct, frozen=True, kw_only=True):
    runtime: str
    flags: Mapping[str, str | bool]
    """Long names without dashes in front, ``-`` within; ``True`` is a bare flag."""
    positional: tuple[str, ...] = ()
    """What stands without a flag: the model."""


def read(text: str, values: Mapping[str, object]) -> Command:
    """The flags of a command whose ``{parameters}`` are filled from ``values``.

    Raises BenchError ``recipe_shell`` (only a shell could run it), ``recipe_program``,
    ``recipe_parameter`` (no value for it), ``recipe_repeated`` and ``recipe_flag``.
    """
    words = [_filled(word, values) for word in _words(text)]
    runtime, rest = _program(words)
    return _flags(runtime, rest)


def flag_of(name: str) -> str:
    """The long form of a flag or a default's name: ``max_model_len`` is ``max-model-len``."""
    return name.replace("_", "-")


def _words(text: str) -> list[str]:
    joined = re.sub(r"\\[ \t]*\r?\n", " ", text).strip()
    if "\n" in joined or "\r" in joined:
        raise BenchError("recipe_shell", what=joined.splitlines()[1].strip()[:60])
    lexer = shlex.shlex(joined, posix=True, punctuation_chars="();<>|&")
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError as fault:
        raise BenchError("recipe_shell", what=f"{joined[:60]} ({fault})") from fault
    for word in words:
        if (not word.strip("();<>|&") and word) or "`" in word or "$" in word:
            raise BenchError("recipe_shell", what=word)
    return words


def _filled(word: str, values: Mapping[str, object]) -> str:
    """Filled after splitting, so that a value can never become two words."""

    def value(name: str) -> str:
        found = values.get(name)
        if found is None or isinstance(found, list | dict):
            raise BenchError("recipe_parameter", name=name)
        return str(found).lower() if isinstance(found, bool) else str(found)

    if "{{" in word:
        return _DOUBLED.sub(lambda match: match[1][0] if match[1] else value(match[2]), word)
    return _PARAMETER.sub(lambda match: value(match[1]), word)


def _program(words: Sequence[str]) -> tuple[str, Sequence[str]]:
    for program in sorted(PROGRAMS, key=len, reverse=True):
        if tuple(words[: len(program)]) == program:
            return PROGRAMS[program], words[len(program) :]
    raise BenchError("recipe_program", program=" ".join(words[:2]) or "-")


def _flags(runtime: str, words: Sequence[str]) -> Command:
    flags: dict[str, str | bool] = {}
    positional: list[str] = []
    place = 0
    while place < len(words):
        word, following = words[place], words[place + 1 : place + 2]
        place += 1
        if not _is_flag(word):
            positional.append(word)
            continue
        name, equals, value = word.partition("=")
        name = _long(runtime, name)
        if name in flags:
            raise BenchError("recipe_repeated", flag=name)
        if equals:
            flags[name] = value
        elif following and not _is_flag(following[0]):
            flags[name] = following[0]
            place += 1
        else:
            flags[name] = True
    if len(positional) > 1:
        raise BenchError("recipe_flag", flag=positional[1])
    return Command(runtime=runtime, flags=flags, positional=tuple(positional))


def _is_flag(word: str) -> bool:
    return bool(re.match(r"--?[A-Za-z]", word))


def _long(runtime: str, word: str) -> str:
    if word.startswith("--"):
        return flag_of(word[2:])
    if word[1:] not in _SHORT[runtime]:
        raise BenchError("recipe_flag", flag=word)
    return _SHORT[runtime][word[1:]]

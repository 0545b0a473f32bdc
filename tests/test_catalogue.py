from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from bench import catalogue
from bench.catalogue import DATA, Catalogue
from bench.errors import BenchError


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A copy of the catalogue that a test may spoil."""
    for file in DATA.glob("*.toml"):
        shutil.copy(file, tmp_path)
    for folder in ("recipes", "chinese"):
        shutil.copytree(DATA / folder, tmp_path / folder)
    return tmp_path


def fault(folder: Path) -> dict[str, object]:
    with pytest.raises(BenchError) as caught:
        catalogue.load(folder)
    assert caught.value.fault.code == "catalogue_fault"
    return dict(caught.value.fault.fields)


def spoil(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))


def test_the_catalogue_that_ships_has_the_models_of_the_comparison(known: Catalogue) -> None:
    assert list(known.models) == [
        "gpt-oss-120b",
        "ornith-1.5-35b-a3b",
        "qwen3.8-27b",
        "smollm2-135m",
        "gemma3-270m",
    ]
    forms = {artifact.format for artifact in known.models["gpt-oss-120b"].artifacts}
    assert forms == {"safetensors", "gguf", "ollama"}


def test_every_engine_but_the_endpoint_has_a_recipe(known: Catalogue) -> None:
    assert {recipe.engine for recipe in known.recipes} == set(known.engines) - {"endpoint"}


def test_the_published_figures_are_those_of_the_source(known: Catalogue) -> None:
    vllm = known.published["ironman-2026-day9-vllm"]
    figures = {(figure.metric, figure.test): figure.value for figure in vllm.figures}
    assert figures["prefill_speed", "pp2048"] == 4092.79
    assert figures["decode_speed", "c8"] == 11.78
    assert vllm.author == "ivanusto"


def test_standard_is_the_sweep_of_the_design(known: Catalogue) -> None:
    standard = known.workloads["standard-1"]
    assert standard.levels == (1, 4, 8, 16, 32)
    assert (standard.prompt_tokens, standard.output_tokens, standard.requests) == (2048, 128, 64)
    assert (standard.warmups, standard.measured) == (1, 5)


def test_a_value_of_the_wrong_kind_names_file_and_key(data: Path) -> None:
    spoil(data / "models.toml", "size_bytes = 23_400_000_000", 'size_bytes = "23 GB"')
    assert fault(data) == {
        "file": "models.toml",
        "key": "ornith-1.5-35b-a3b.artifacts.nvfp4.size_bytes",
        "problem": "Expected `int | null`, got `str`",
    }


def test_a_misspelt_key_is_a_fault(data: Path) -> None:
    spoil(data / "workloads.toml", "warmups = 1", "warmup = 1")
    found = fault(data)
    assert (found["file"], found["key"]) == ("workloads.toml", "demo-1")
    assert "warmup" in str(found["problem"])


def test_broken_toml_names_the_line(data: Path) -> None:
    spoil(data / "engines.toml", 'name = "SGLang"', "name = SGLang")
    found = fault(data)
    assert found["file"] == "engines.toml"
    assert "line" in str(found["problem"])


def test_a_missing_file_is_named(data: Path) -> None:
    (data / "prompts.toml").unlink()
    assert fault(data)["file"] == "prompts.toml"


@pytest.mark.parametrize(
    ("file", "old", "new", "key"),
    [
        ("recipes/vllm.toml", "[gpt-oss-120b.mxfp4]", "[gpt-oss-12b.mxfp4]", "gpt-oss-12b.mxfp4"),
        ("recipes/vllm.toml", "[gpt-oss-120b.mxfp4]", "[gpt-oss-120b.fp4]", "gpt-oss-120b.fp4"),
        (
            "recipes/vllm.toml",
            "[gpt-oss-120b.mxfp4]",
            "[gpt-oss-120b.gguf-mxfp4]",
            "gpt-oss-120b.gguf-mxfp4",
        ),
        ("workloads.toml", '"zh-explain"', '"zh-nothing"', "demo-1.answers"),
        ("published.toml", 'engine = "vllm"', 'engine = "vlm"', "ironman-2026-day9-vllm.engine"),
        ("engines.toml", 'image = "ollama/ollama:latest"', "", "gpt-oss-120b.ollama.image"),
    ],
)
def test_what_points_at_nothing_is_a_fault(
    data: Path, file: str, old: str, new: str, key: str
) -> None:
    spoil(data / file, old, new)
    assert fault(data)["key"] == key


def test_a_recipe_for_an_engine_that_is_not_there_is_a_fault(data: Path) -> None:
    (data / "recipes" / "vllm.toml").rename(data / "recipes" / "vlm.toml")
    assert "no engine vlm" in str(fault(data)["problem"])


def test_prompts_of_the_chinese_folder_are_read_too(data: Path) -> None:
    (data / "chinese" / "more.toml").write_text(
        '[zh-more]\nlanguage = "zh-TW"\nkind = "letter"\ntext = "請寫一封信。"\n'
    )
    assert catalogue.load(data).prompts["zh-more"].text == "請寫一封信。"

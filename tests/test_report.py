"""Files that people take away: what they look like when they are opened again."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import struct
import subprocess
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest

from bench import charts, store
from bench.catalogue import Catalogue
from bench.errors import BenchError
from bench.export import picture
from bench.export import table as report
from bench.export.picture import SIZES, Look, Shape
from bench.layout import plain, width, wrapped
from bench.results import Result
from bench.shown import tables, views
from bench.text import LANGUAGES, Words, words
from bench.web import links
from tests import examples

T = words("zh-TW")
Chart = Callable[[Sequence[Result], Words], charts.Figure | None]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory, known: Catalogue) -> list[Result]:
    path = tmp_path_factory.mktemp("report") / "bench.db"
    ids = examples.fill(path)
    with store.opened(path) as db:
        wanted = [ids["fast"], ids["good"], "ironman-2026-day9-vllm"]
        return links.load(db, wanted, known, T)


def figure(results: list[Result]) -> charts.Figure:
    found = charts.throughput(results, T)
    assert found
    return found


def size(image: bytes) -> tuple[int, int]:
    """Width and height from a PNG's header."""
    assert image.startswith(b"\x89PNG\r\n\x1a\n")
    wide, high = struct.unpack(">II", image[16:24])
    return int(wide), int(high)


def test_an_image_is_a_png_of_the_asked_scale(results: list[Result]) -> None:
    caption = views.caption(figure(results), T)
    one, three = (
        size(picture.png(figure(results), caption, Look(scale=scale))) for scale in (1, 3)
    )
    assert 700 < one[0] < 1000
    assert abs(three[0] - 3 * one[0]) <= 3 and abs(three[1] - 3 * one[1]) <= 3


def test_an_image_says_what_it_shows_and_what_was_not_measured_here(results: list[Result]) -> None:
    drawing = picture.svg(figure(results), views.caption(figure(results), T)).decode()
    shown = "".join(ElementTree.fromstring(drawing).itertext())
    for what in (
        "SmolLM2 135M",
        "demo-1",
        "24",
        "128",
        "48",
        "b7240",
        "2026-11-30",
        "公開數據",
        "ivanusto",
        "所有人合計的輸出速度",
    ):
        assert what in shown, what
    assert views.definition("throughput", T)[:20] in shown


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_caption_is_complete_in_both_languages(results: list[Result], language: str) -> None:
    lines = views.caption(figure(results), words(language))
    assert len(lines) == len(results) + 1 and all(lines)


def test_energy_stands_in_the_tables_where_the_gpu_told_its_power(results: list[Result]) -> None:
    level = next(level for level in results[0].levels if level.kind == "sweep")
    assert not [row for row in tables.measurements(results, T) if "energy" in row["metric"]]
    told = msgspec.structs.replace(level, power=84.0, throughput_all=21.0)
    result = msgspec.structs.replace(results[0], levels=(told,))
    (row,) = (row for row in tables.measurements([result], T) if "energy" in row["metric"])
    assert (row["value"], row["unit"], row["people"]) == (4.0, "J", level.concurrency)
    (shown,) = (row for row in tables.overview([result], T) if "能量" in str(row))
    assert "4.00" in shown.values()


def test_dark_images_have_a_dark_ground(results: list[Result]) -> None:
    light, dark = (
        picture.svg(figure(results), [], Look(theme=theme)) for theme in ("light", "dark")
    )
    assert b"#12191b" in dark and b"#12191b" not in light


def test_without_a_chinese_font_no_image_is_made() -> None:
    with pytest.raises(BenchError) as fault:
        picture.check_fonts(draw=lambda svg: b"the same empty box")
    assert "fonts-noto-cjk" in str(fault.value)


def test_the_fonts_of_this_machine_draw_chinese() -> None:
    picture.check_fonts()


def test_a_spreadsheet_gets_a_byte_order_mark_and_plain_numbers(results: list[Result]) -> None:
    file = report.table_csv(tables.measurements(results, T))
    assert file.startswith(b"\xef\xbb\xbf")
    rows = list(csv.DictReader(io.StringIO(file.decode("utf-8-sig"))))
    c8 = next(r for r in rows if r["metric"] == "throughput" and r["test"] == "c8")
    assert float(c8["value"]) > 50 and c8["unit"] == "tokens/s" and c8["n"] == "24"
    assert {row["source"] for row in rows} == {"measured", "published"}
    assert not any(row["metric"] == "ttft_p99" for row in rows if row["source"] == "measured")


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1+2", "@SUM(A1)", "\t=1", "\r=1"])
def test_a_cell_of_a_spreadsheet_is_no_formula(cell: str) -> None:
    file = report.table_csv([{cell: cell, "n": -1.5}]).decode("utf-8-sig")
    (heads, values) = csv.reader(io.StringIO(file, newline=""))
    assert heads[0].startswith("'") and values[0].startswith("'")
    assert values[1] == "-1.5"


def test_a_missing_value_is_an_empty_cell() -> None:
    assert report.table_csv([{"a": None, "b": 0}]).decode("utf-8-sig") == "a,b\r\n,0\r\n"
    assert report.table_markdown([{"a": None, "b": 0}]) == "| a | b |\n| --- | --- |\n|  | 0 |\n"


def test_a_name_cannot_break_a_markdown_table() -> None:
    text = report.table_markdown([{"a|b": "x\ny|z"}])
    assert text == "| a\\|b |\n| --- |\n| x y\\|z |\n"
    hostile = report.table_markdown([{"a": "<img src=x> [a](b) \\<"}])
    assert hostile.splitlines()[2] == "| \\<img src=x> \\[a](b) \\\\\\< |"


def test_no_tables_are_files_without_rows() -> None:
    assert report.table_csv([]) == b"\xef\xbb\xbf\r\n"


@pytest.mark.parametrize(
    ("text", "columns", "lines"),
    [
        ("", 10, []),
        ("one two three", 7, ["one two", "three"]),
        ("測試中文換行", 6, ["測試中", "文換行"]),
        ("測試，中文", 4, ["測", "試，", "中文"]),
        ("averyveryverylongword", 5, ["averyveryverylongword"]),
    ],
)
def test_lines_break_where_each_script_may(text: str, columns: int, lines: list[str]) -> None:
    assert wrapped(text, columns) == lines


def test_a_wrapped_text_loses_nothing() -> None:
    text = "引擎版本 b7240；測試內容 demo-1，每級 24 個請求 (tokens: 128/48)。"
    joined = "".join("".join(wrapped(text, 20)).split())
    assert joined == "".join(text.split())
    assert all(width(line) <= 24 for line in wrapped(text, 20))


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("llama.cpp (8-bit)", "llama.cpp (8-bit)"),
        ("a*b\n$1", "a\\*b  \n\\$1"),
        ("- no list", "\\- no list"),
        ("12. no list", "12\\. no list"),
        ("    no code", "\u00a0" * 4 + "no code"),
        ("3.5 s", "3\\.5 s"),
        (":red[no colour] <b>", "\\:red\\[no colour\\] \\<b\\>"),
        ("", ""),
    ],
)
def test_plain_text_keeps_its_lines_and_every_sign(text: str, markdown: str) -> None:
    assert plain(text) == markdown


def test_export_file_sizes_are_fit_for_a_blog(results: list[Result], tmp_path: Path) -> None:
    image = picture.png(figure(results), views.caption(figure(results), T))
    assert 10_000 < len(image) < 600_000


@pytest.mark.parametrize("shape", list(SIZES))
@pytest.mark.parametrize("chart", [charts.throughput, charts.loading])
def test_a_picture_has_exactly_the_pixels_of_its_shape(
    results: list[Result], shape: Shape, chart: Chart
) -> None:
    drawn = chart(results, T)
    assert drawn
    image = picture.png(drawn, views.caption(drawn, T), Look(shape=shape, scale=1))
    assert size(image) == SIZES[shape]


def test_a_long_caption_leaves_room_for_the_chart(results: list[Result]) -> None:
    caption = ["一行很長的說明文字，" * 12] * 8
    drawing = picture.svg(figure(results), caption, Look(shape="blog")).decode()
    text = "".join(ElementTree.fromstring(drawing).itertext()).replace("\u200b", "")
    assert "".join(text.split()).count("一行很長的說明文字") >= 8 * 11
    assert size(picture.png(figure(results), caption, Look(shape="blog", scale=1))) == (1200, 675)


def test_a_pdf_carries_its_chinese_letters(results: list[Result], tmp_path: Path) -> None:
    file = tmp_path / "a.pdf"
    file.write_bytes(picture.pdf(figure(results), views.caption(figure(results), T)))
    told = run(["pdftotext", str(file), "-"])
    assert "所有人合計" in told
    assert "公開數據" in told
    assert "NotoSansCJK" in run(["pdffonts", str(file)])


def run(command: list[str]) -> str:
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def test_a_caption_names_engine_image_and_machine(results: list[Result]) -> None:
    run = results[0].run
    assert run
    facts = dict(run.facts) | {
        "image": "ghcr.io/ggml-org/llama.cpp:server",
        "image_digest": "sha256:0123456789abcdef0123",
        "host": {"product": "NVIDIA DGX Spark", "gpu": "NVIDIA GB10"},
    }
    known = msgspec.structs.replace(results[0], run=msgspec.structs.replace(run, facts=facts))
    drawn = charts.throughput([known], words("en"))
    assert drawn
    line = views.caption(drawn, words("en"))[0]
    assert "llama.cpp:server@0123456789ab" in line
    assert "NVIDIA DGX Spark, NVIDIA GB10" in line


def test_a_table_in_html_is_text_and_nothing_else() -> None:
    table = [{"<b>": "<script>alert(1)</script>", "n": 1234.5}, {"<b>": None, "n": 7}]
    made = report.table_html(table)
    assert "<script>" not in made and "<b>" not in made
    assert "&lt;script&gt;" in made
    assert '<td class="number">1,234</td>' in made or '<td class="number">1,235</td>' in made
    rows = ElementTree.fromstring(made)
    assert [len(row) for row in rows.iter("tr")] == [2, 2, 2]


def test_a_table_in_json_has_numbers_and_null() -> None:
    assert json.loads(report.table_json([{"a": 1.5}, {"b": "x"}])) == [
        {"a": 1.5, "b": None},
        {"a": None, "b": "x"},
    ]


def test_a_single_bar_is_no_wall_in_a_high_picture(results: list[Result]) -> None:
    drawn = charts.prompt_set(results[:1], "decode", T)
    assert drawn
    svg = ElementTree.fromstring(picture.svg(drawn, [], Look(shape="square")))
    bars = [one.get("d", "") for one in svg.iter() if one.get("aria-roledescription") == "bar"]
    heights = [abs(float(number)) for d in bars for number in re.findall(r"[vV](-?[\d.]+)", d)]
    assert bars and heights
    assert max(heights) < 120

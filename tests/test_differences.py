"""What differs between runs, and only that."""

from __future__ import annotations

from bench.numbers.differences import Difference, differences


def test_only_what_differs_is_listed():
    a = {"engine": "vllm", "recipe": {"flags": {"max-num-seqs": 32, "port": 8000}, "image": "x:1"}}
    b = {"engine": "vllm", "recipe": {"flags": {"max-num-seqs": 8, "port": 8000}, "image": "x:1"}}
    assert differences(a, b) == (Difference(key="recipe.flags.max-num-seqs", values=("32", "8")),)
    assert differences(a, a) == ()


def test_a_setting_that_one_run_lacks_is_told_as_absent():
    found = differences({"env": {"A": "1"}}, {"env": {}}, {"env": {"A": "1"}})
    assert found == (Difference(key="env.A", values=("1", None, "1")),)
    assert differences({"digest": None}, {}) == ()


def test_the_order_of_arguments_is_no_difference():
    a = {"argv": ("serve", "m", "--port", "8000", "--jinja", "--kv-cache-dtype", "fp8")}
    b = {"argv": ["serve", "m", "--kv-cache-dtype=fp8", "--jinja", "--port", "9000"]}
    assert differences(a, b) == (Difference(key="argv.--port", values=("8000", "9000")),)


def test_a_bare_flag_that_one_command_lacks_is_one_difference():
    found = differences({"argv": ("s", "--jinja")}, {"argv": ("s", "--no-mmap")})
    assert {row.key: row.values for row in found} == {
        "argv.--jinja": ("on", None),
        "argv.--no-mmap": (None, "on"),
    }


def test_plain_lists_are_compared_whole():
    assert differences({"levels": [1, 4]}, {"levels": [1, 8]}) == (
        Difference(key="levels", values=("1, 4", "1, 8")),
    )

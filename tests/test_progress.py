from pathlib import Path

import pytest

from bench import config
from bench.running import progress
from bench.running.progress import Progress


@pytest.fixture
def settings(tmp_path: Path) -> config.Config:
    return config.read({"SPARK_COMPARE_VAR": str(tmp_path)})


def test_a_reader_sees_the_requests_counted_so_far(settings: config.Config) -> None:
    with progress.counting(settings, "abc") as count:
        assert progress.read(settings, "abc") is None, "no level has begun"
        count(Progress(3, 1, 16))
        assert progress.read(settings, "abc") == Progress(3, 1, 16)
    assert progress.read(settings, "abc") is None, "the level is over"


def test_a_run_that_is_not_measured_has_no_progress(settings: config.Config) -> None:
    assert progress.read(settings, "abc") is None


def test_a_file_cut_short_by_a_crash_is_no_progress(settings: config.Config) -> None:
    (settings.var / "progress").mkdir()
    (settings.var / "progress" / "abc").write_bytes(b"\x01")
    assert progress.read(settings, "abc") is None

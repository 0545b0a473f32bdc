"""The operators' passcode: kept as a hash, and guessed by nobody."""

from __future__ import annotations

import stat
import threading
from pathlib import Path

import pytest

from bench import __main__ as command
from bench import store
from bench.config import Config
from bench.errors import BenchError
from bench.people import audit, passcode

GOOD = "Orchard-Plum-7-密碼"
NOW = 1_800_000_000.0


@pytest.fixture
def looked_at(config: Config, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Each passcode that is held against the hash; the hash itself is really made."""
    passcode.keep(config.passcode, GOOD)
    seen: list[str] = []

    def right(hashed: str, given: str) -> bool:
        seen.append(given)
        return given == GOOD

    monkeypatch.setattr(passcode, "_right", right)
    return seen


def code(config: Config, given: str, address: str = "192.168.1.9", now: float = NOW) -> str:
    try:
        passcode.sign_in(config, given, address, now)
    except BenchError as refused:
        return refused.fault.code
    return "right"


def test_only_a_hash_is_kept_that_its_owner_alone_can_read(config: Config) -> None:
    passcode.keep(config.passcode, GOOD)
    kept = config.passcode.read_text()
    assert kept.startswith("$argon2id$") and GOOD not in kept
    assert stat.S_IMODE(config.passcode.stat().st_mode) == 0o600
    assert list(config.var.iterdir()) == [config.passcode]


def test_the_right_passcode_gives_a_grant_for_some_hours(config: Config) -> None:
    passcode.keep(config.passcode, GOOD)
    grant = passcode.sign_in(config, GOOD, "192.168.1.9", NOW)
    assert grant.until == NOW + 12 * 3600
    assert grant.passcode == passcode.stored(config.passcode)
    for wrong in ("", GOOD + " ", GOOD.lower(), "x" * 1_000_000, "\0"):
        assert code(config, wrong) == "passcode_wrong"


@pytest.mark.parametrize(("given", "refusal"), [("short", "short"), ("x" * 1001, "long")])
def test_a_passcode_has_a_sensible_length(config: Config, given: str, refusal: str) -> None:
    with pytest.raises(BenchError) as error:
        passcode.keep(config.passcode, given)
    assert error.value.fault.code == f"passcode_{refusal}"
    assert passcode.stored(config.passcode) is None


def test_a_thousand_wrong_passcodes_from_one_place_are_five_tries(
    config: Config, looked_at: list[str]
) -> None:
    found = [code(config, f"guess {n}") for n in range(1000)]
    assert found == ["passcode_wrong"] * 5 + ["passcode_tries"] * 995
    assert len(looked_at) == 5
    assert code(config, GOOD) == "passcode_tries"  # the right one tells nothing either
    with store.opened(config.database) as db:
        assert len(audit.entries(db)) == 5  # the log is not flooded


def test_a_thousand_wrong_passcodes_from_everywhere_are_forty_tries(
    config: Config, looked_at: list[str]
) -> None:
    for n in range(1000):
        code(config, f"guess {n}", f"10.0.{n // 250}.{n % 250}")
    assert len(looked_at) == 40


def test_the_addresses_of_one_household_are_one_place(config: Config, looked_at: list[str]) -> None:
    for n in range(100):
        code(config, f"guess {n}", f"2001:db8::{n:x}")
        code(config, f"guess {n}", "::ffff:192.168.1.7" if n % 2 else "192.168.1.7")
    assert len(looked_at) == 10


def test_tries_at_the_same_time_count_too(config: Config, looked_at: list[str]) -> None:
    def guess(n: int) -> None:
        code(config, f"guess {n}")

    threads = [threading.Thread(target=guess, args=(n,)) for n in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(looked_at) == 5


def test_after_ten_minutes_one_may_try_again(config: Config, looked_at: list[str]) -> None:
    for n in range(6):
        code(config, f"guess {n}")
    assert code(config, GOOD, now=NOW + 599) == "passcode_tries"
    assert code(config, GOOD, now=NOW + 601) == "right"


def test_somebody_elses_wrong_tries_close_nothing_for_others(
    config: Config, looked_at: list[str]
) -> None:
    for n in range(6):
        code(config, f"guess {n}")
    assert code(config, GOOD, "192.168.1.10") == "right"


def test_a_right_passcode_forgets_the_wrong_ones_before_it(
    config: Config, looked_at: list[str]
) -> None:
    for _ in range(3):
        assert [code(config, f"guess {n}") for n in range(4)] == ["passcode_wrong"] * 4
        assert code(config, GOOD) == "right"


def test_a_damaged_hash_opens_nothing(config: Config) -> None:
    config.passcode.parent.mkdir(parents=True)
    config.passcode.write_text("$argon2id$nonsense\n")
    assert code(config, GOOD) == "passcode_wrong"


def test_the_command_sets_generates_and_removes(
    config: Config,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("SPARK_COMPARE_VAR", str(config.var))
    monkeypatch.setenv("USER", "mei")
    assert command.main(["passcode", "--generate"]) == 0
    made = capsys.readouterr().out.strip()
    assert code(config, made) == "right"
    given = tmp_path / "given"
    given.write_text("short\n")
    with given.open() as file:
        monkeypatch.setattr("sys.stdin", file)
        assert command.main(["passcode"]) == 1
    assert "at least 10" in capsys.readouterr().err
    assert code(config, made) == "right"
    given.write_text(f"{GOOD}\n")
    with given.open() as file:
        monkeypatch.setattr("sys.stdin", file)
        assert command.main(["passcode"]) == 0
    assert code(config, GOOD) == "right"
    assert command.main(["passcode", "--remove"]) == 0
    assert passcode.stored(config.passcode) is None
    with store.opened(config.database) as db:
        did = [entry.who for entry in audit.entries(db) if entry.action == "passcode"]
    assert did == ["shell:mei"] * 3

"""The operators' passcode: only its hash is kept, and guessing it is slow.

``python -m bench passcode`` sets it. The hash (Argon2id) lies in ``var/passcode``, readable by its
owner only. A try is counted before it is looked at, so that tries at the same time count too.
"""

from __future__ import annotations

import argparse
import getpass
import ipaddress
import os
import secrets
import sys
from collections.abc import Sequence
from pathlib import Path

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from sqlite_utils import Database

from bench import config, store
from bench.config import Config
from bench.errors import BenchError
from bench.people import access, audit
from bench.people.access import Actor, Grant
from bench.text import preferred, words

SHORTEST = 10
"""Characters."""
LONGEST = 1000
WINDOW = 600.0
"""Seconds for which a wrong try counts."""
TRIES = 5
"""Wrong tries from one address within the window; more are not looked at."""
TRIES_OF_ALL = 40
"""Wrong tries from everywhere within the window."""


def stored(path: Path) -> str | None:
    """The hash of the passcode that is in force; None when none is set."""
    try:
        return path.read_text(encoding="ascii").strip() or None
    except FileNotFoundError:
        return None


def keep(path: Path, passcode: str) -> None:
    """Put a new passcode in force. Raises BenchError ``passcode_short`` or ``passcode_long``."""
    if len(passcode) < SHORTEST:
        raise BenchError("passcode_short", shortest=SHORTEST)
    if len(passcode) > LONGEST:
        raise BenchError("passcode_long", longest=LONGEST)
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(PasswordHasher().hash(passcode) + "\n")
    new.replace(path)


def sign_in(settings: Config, passcode: str, address: str, now: float) -> Grant:
    """What a right passcode gives; ``now`` in seconds since 1970.

    Raises BenchError ``passcode_wrong``, or ``passcode_tries`` when this address, or all together,
    have been wrong too often: then even the right one is not looked at.
    """
    hashed = stored(settings.passcode)
    if hashed is None:
        raise BenchError("access.why.no_passcode")
    place = _place(address)
    with store.opened(settings.database) as db:
        _count(db, place, now)
        if not _right(hashed, passcode):
            audit.note(db, Actor(who="", role="viewer"), "wrong_passcode", address=place)
            raise BenchError("passcode_wrong")
        with store.writing(db):
            db.execute("delete from passcode_tries where address = ?", [place])
            audit.note(db, Actor(who="passcode", role="operator"), "sign_in", address=place)
    return Grant(until=now + settings.sign_in_hours * 3600, passcode=hashed)


def _count(db: Database, place: str, now: float) -> None:
    """Count a try before it is looked at, or refuse it."""
    with store.writing(db):
        db.execute("delete from passcode_tries where at < ?", [now - WINDOW])
        mine, every, oldest = db.execute(
            "select count(*) filter (where address = ?), count(*), min(at) from passcode_tries",
            [place],
        ).fetchone()
        refused = mine >= TRIES or every >= TRIES_OF_ALL
        if not refused:
            db.execute("insert into passcode_tries (at, address) values (?, ?)", (now, place))
    if refused:
        raise BenchError("passcode_tries", minutes=max(1, round((oldest + WINDOW - now) / 60)))


def _right(hashed: str, passcode: str) -> bool:
    try:
        return PasswordHasher().verify(hashed, passcode[: LONGEST + 1])
    except (VerificationError, InvalidHashError):
        return False


def _place(address: str) -> str:
    """What tries are counted by: an address, of IPv6 the network that one household has."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address[:64]
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network(f"{found}/64", strict=False))


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench passcode", description=__doc__)
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--generate", action="store_true", help="make one up and print it once")
    how.add_argument("--remove", action="store_true", help="back to no passcode")
    asked = parser.parse_args(argv)
    settings, t = config.read(), words(preferred(os.environ.get("LANG")))
    try:
        if asked.remove:
            settings.passcode.unlink(missing_ok=True)
        else:
            chosen = _made_up() if asked.generate else _asked()
            keep(settings.passcode, chosen)
            if asked.generate:
                print(chosen)
        with store.opened(settings.database) as db:
            audit.note(db, access.shell(os.environ.get("USER", "")), "passcode")
    except BenchError as error:
        print(t.fault(error.fault), file=sys.stderr)
        return 1
    print(t("access.passcode_removed" if asked.remove else "access.passcode_set"), file=sys.stderr)
    return 0


def _made_up() -> str:
    """Five times five letters that are easily told apart, more than 100 bits."""
    letters = "".join(secrets.choice(store.ALPHABET) for _ in range(25))
    return "-".join(letters[at : at + 5] for at in range(0, 25, 5))


def _asked() -> str:
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\n")
    first = getpass.getpass("Passcode: ")
    if first != getpass.getpass("Again: "):
        raise BenchError("passcode_differs")
    return first

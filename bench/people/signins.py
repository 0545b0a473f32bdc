"""Sign-ins that their people ended. A provider's sign-in lies in a cookie that holds for 30 days;
without this, every other tab and whoever copied the cookie would stay signed in."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from sqlite_utils import Database

from bench import store

KEPT = 31 * 86400.0
"""Seconds, longer than any cookie holds."""


def end(db: Database, claims: Mapping[str, Any], now: float) -> None:
    """Never accept this sign-in again; ``now`` in seconds since 1970."""
    with store.writing(db):
        db.execute("delete from signed_out where at < ?", [now - KEPT])
        db.execute("insert or ignore into signed_out values (?, ?)", (_name(claims), now))


def ended(db: Database, claims: Mapping[str, Any]) -> bool:
    row = db.execute("select 1 from signed_out where sign_in = ?", [_name(claims)]).fetchone()
    return row is not None


def _name(claims: Mapping[str, Any]) -> str:
    """Names one sign-in of one person, and tells nothing of them."""
    parts = [str(claims.get(name, "")) for name in ("iss", "sub", "iat", "nonce")]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()

"""Who may do what. Pure: values in, a role out; the pages and the routes bring what they see.

Viewers open links, compare, export and vote. Operators also launch, cancel, import, edit and
delete. Three ways to be an operator, and only one of them is open at a time:

- Where the server serves this machine alone and nothing was set up, everybody at this machine is.
- With a sign-in (OpenID Connect), whom the setting ``SPARK_COMPARE_OPERATORS`` names.
- Otherwise, who gives the operators' passcode.

A proxy or a tunnel on this machine makes every visitor seem to sit at it. So a visit counts as
from here only when its peer, its ``Host`` and its ``Origin`` all say so and no header of a proxy is
there, and setting up anything (a passcode, names of hosts, a sub-path, a sign-in) ends that trust.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec

from bench.errors import BenchError

Action = Literal[
    "view", "compare", "export", "vote", "launch", "cancel", "import", "edit", "delete", "audit"
]
Role = Literal["operator", "viewer", "nobody"]
Why = Literal["", "sign_in", "expired", "refused", "viewer", "passcode", "no_passcode"]
FOR_VIEWERS: frozenset[Action] = frozenset({"view", "compare", "export", "vote"})
OF_PROXIES = frozenset({"forwarded", "via", "x-real-ip", "true-client-ip", "cf-connecting-ip"})
"""Headers that proxies add, beside everything that begins with ``x-forwarded``."""


class Actor(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody who does something."""

    who: str
    """What the audit keeps: an e-mail address or other name from the sign-in, ``local``,
    ``passcode``, ``shell:NAME``; empty for an unknown viewer."""
    role: Role
    why: Why = ""
    """Why no more is allowed: the key of a sentence in ``access.toml``."""


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """What a right passcode gives. A value of a type of its own, so that no state of a widget can
    pass for it."""

    until: float
    """Seconds since 1970."""
    passcode: str
    """The hash that was in force: another passcode ends what the old one gave."""


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """What was set up on this machine."""

    oidc: bool = False
    operators: tuple[str, ...] = ()
    viewers: tuple[str, ...] = ("*",)
    sign_in_hours: float = 12
    passcode: str | None = None
    """The hash of the operators' passcode."""
    only_here: bool = False
    """The server listens on this machine alone, at no sub-path, with no names of hosts set."""


class Visit(msgspec.Struct, frozen=True, kw_only=True):
    """What the server sees of a request."""

    here: bool
    """See `from_here`."""
    claims: Mapping[str, Any] | None = None
    """What the provider said of a person who signed in, from a cookie that the server signed."""
    signed_out: bool = False
    """This very sign-in was ended by its person."""
    grant: Grant | None = None


def actor(policy: Policy, visit: Visit, now: float) -> Actor:
    """Who a visit is. ``now`` in seconds since 1970."""
    if policy.oidc:
        return _signed_in(policy, visit, now)
    if policy.only_here and policy.passcode is None and visit.here:
        return Actor(who="local", role="operator")
    if policy.passcode is None:
        return Actor(who="", role="viewer", why="no_passcode")
    grant = visit.grant
    if grant and grant.passcode == policy.passcode and now < grant.until:
        return Actor(who="passcode", role="operator")
    return Actor(who="", role="viewer", why="passcode")


def shell(user: str) -> Actor:
    """Whoever has a shell on this machine can do everything anyway."""
    return Actor(who=f"shell:{user}", role="operator")


def _signed_in(policy: Policy, visit: Visit, now: float) -> Actor:
    claims = visit.claims or {}
    if claims.get("is_logged_in") is not True or visit.signed_out:
        return Actor(who="", role="nobody", why="sign_in")
    name = _name(claims)
    issued = claims.get("iat")
    if not isinstance(issued, int | float) or now > issued + policy.sign_in_hours * 3600:
        return Actor(who=name, role="nobody", why="expired")
    if _named(policy.operators, claims):
        return Actor(who=name, role="operator")
    if _named(policy.viewers, claims):
        return Actor(who=name, role="viewer", why="viewer")
    return Actor(who=name, role="nobody", why="refused")


def may(actor: Actor, action: Action) -> bool:
    return actor.role == "operator" or (actor.role == "viewer" and action in FOR_VIEWERS)


def require(actor: Actor, action: Action) -> None:
    """Raise BenchError ``access.why.…`` unless the actor may do this."""
    if not may(actor, action):
        raise BenchError(f"access.why.{actor.why or 'viewer'}")


def _name(claims: Mapping[str, Any]) -> str:
    for name in ("email", "preferred_username", "name", "sub"):
        if value := claims.get(name):
            return str(value)[:200]
    return "?"


def _named(entries: Sequence[str], claims: Mapping[str, Any]) -> bool:
    """Whether one of the entries names this person.

    ``*`` is everybody, ``claim=value`` a claim that is or contains the value, ``@example.com`` an
    e-mail address there, anything else an e-mail address. An address that the provider calls
    unverified names nobody: in some places people choose it themselves.
    """
    return any(_is_named(entry, claims) for entry in entries)


def _is_named(entry: str, claims: Mapping[str, Any]) -> bool:
    if entry == "*":
        return True
    claim, equals, wanted = entry.partition("=")
    if equals:
        found = claims.get(claim)
        return wanted in (map(str, found) if isinstance(found, list) else [str(found)])
    email = str(claims.get("email") or "").casefold()
    if claims.get("email_verified", True) not in (True, "true"):
        return False
    entry = entry.casefold()
    return "@" in email and (email == entry or (entry.startswith("@") and email.endswith(entry)))


def from_here(peer: str | None, headers: Mapping[str, str]) -> bool:
    """Whether a request comes from a browser at this machine: ``peer`` is the other end's address,
    ``headers`` have names in lower case. Without a Host nobody is here."""
    proxied = any(name in OF_PROXIES or name.startswith("x-forwarded") for name in headers)
    origin = headers.get("origin")
    return (
        not proxied
        and is_loopback(peer)
        and is_loopback(hostname(headers.get("host")))
        and (origin is None or is_loopback(urlsplit(origin).hostname))
    )


def hostname(host: str | None) -> str | None:
    """The name in a ``Host`` header, lower case and without its port; None for one that is none."""
    try:
        parts = urlsplit(f"//{host or ''}")
        _ = parts.port
    except ValueError:
        return None
    if parts.path or parts.query or parts.fragment or "@" in parts.netloc:
        return None
    return parts.hostname.rstrip(".") if parts.hostname else None


def is_loopback(name: str | None) -> bool:
    """``localhost`` and the addresses that mean this machine itself."""
    if name == "localhost":
        return True
    address = _address(name)
    return address is not None and address.is_loopback


def host_served(name: str | None, served: Sequence[str], own: Sequence[str] = ()) -> bool:
    """Whether the app answers under this name.

    A page elsewhere can make its own name point at this machine (DNS rebinding) and then read what
    it likes. So a name has to be known: one of ``served`` (``*.example.com`` for all below, ``*``
    for any), or where nothing is set, an address in digits or one of the machine's ``own`` names.
    """
    if name is None:
        return False
    if is_loopback(name):
        return True
    if not served:
        return _address(name) is not None or name in own
    return any(
        pattern == "*"
        or name == pattern.casefold()
        or (pattern.startswith("*.") and name.endswith(pattern[1:].casefold()))
        for pattern in served
    )


def same_origin(origin: str | None, host: str | None) -> bool:
    """Whether a page of this very server sent a request; programs send no Origin at all."""
    if origin is None:
        return True
    try:
        parts = urlsplit(origin)
        default = {"http": 80, "https": 443}.get(parts.scheme)
        theirs = (parts.hostname, parts.port or default)
        ours = urlsplit(f"//{host or ''}")
        return theirs == (ours.hostname, ours.port or default) and default is not None
    except ValueError:
        return False


def _address(name: str | None) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name or "")
    except ValueError:
        return None

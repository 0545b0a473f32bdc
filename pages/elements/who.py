"""Who is at the other end: what Streamlit knows of a visitor, as the values of `access`."""

import json
import time
from collections.abc import Mapping
from typing import Any

import streamlit as st
from starlette.requests import Request
from streamlit import auth_util
from streamlit import config as streamlit_config
from streamlit.web.server import server_util
from streamlit.web.server.starlette import starlette_app_utils

from bench import config, store
from bench.config import Config
from bench.people import access, gate, passcode, signins
from bench.people.access import Actor, Grant, Policy, Visit


def visitor(settings: Config) -> Actor:
    """Who looks at the page that is being drawn, found anew at each action."""
    grant = st.session_state.get("grant")
    return _actor(settings, here(), st.user.to_dict(), grant if isinstance(grant, Grant) else None)


def asker(request: Request) -> Actor:
    """Who sends a request to a route of our own."""
    peer = request.client.host if request.client else None
    return _actor(config.read(), access.from_here(peer, request.headers), _cookie(request))


def voter(actor: Actor) -> str | None:
    """What tells one voter from another: who signed in, else the token of the browser (`gate`).

    None in a browser that has none, since it keeps no cookies or has not opened a vote link.
    """
    if st.user.get("is_logged_in"):
        return f"person:{actor.who}"
    token = st.context.cookies.get(gate.VOTER, "")
    return f"browser:{token}" if 16 <= len(token) <= 64 else None


def here() -> bool:
    """Whether the browser runs on this machine."""
    headers = {name.lower(): value for name, value in st.context.headers.items()}
    return access.from_here(address(), headers)


def address() -> str:
    """The other end's address. Streamlit calls a loopback address None."""
    return st.context.ip_address or "127.0.0.1"


def policy(settings: Config) -> Policy:
    """What was set up on this machine."""
    listens = streamlit_config.get_option("server.address")
    return Policy(
        oidc=bool(auth_util.get_secrets_auth_section()),
        operators=settings.operators,
        viewers=settings.viewers,
        sign_in_hours=settings.sign_in_hours,
        passcode=passcode.stored(settings.passcode),
        only_here=access.is_loopback(listens) and not base() and not settings.hosts,
    )


def base() -> str:
    """The sub-path that the app is served under: ``/spark``, or nothing."""
    path = str(streamlit_config.get_option("server.baseUrlPath") or "").strip("/")
    return f"/{path}" if path else ""


def _actor(
    settings: Config, here: bool, claims: Mapping[str, Any], grant: Grant | None = None
) -> Actor:
    ended = False
    if claims.get("is_logged_in"):
        with store.opened(settings.database) as db:
            ended = signins.ended(db, claims)
    visit = Visit(here=here, claims=claims, signed_out=ended, grant=grant)
    return access.actor(policy(settings), visit, time.time())


def _cookie(request: Request) -> Mapping[str, Any]:
    """What the provider said of the person, from the cookie that Streamlit signed."""

    def part(name: str) -> bytes | None:
        value, secret = request.cookies.get(name), server_util.get_cookie_secret()
        signed = (value or "").encode("latin-1", "replace")
        return starlette_app_utils.decode_signed_value(secret, name, signed) if value else None

    whole = auth_util.get_cookie_with_chunks(part, server_util.AUTH_COOKIE_NAME)
    claims = json.loads(whole) if whole else {}
    return claims if isinstance(claims, dict) else {}

"""The server: ``streamlit run app.py``.

The router of the pages lies in ``pages/`` and not here: beside a folder ``pages``, the first
visitor of a fresh server who follows a share link would get the page file without its router.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import streamlit as st
from starlette.middleware import Middleware
from streamlit import config as streamlit_config

from bench import config, store
from bench.errors import BenchError
from bench.people import gate
from bench.web import api, opengraph
from pages.elements import who


@asynccontextmanager
async def lifespan(_: st.App) -> AsyncIterator[None]:
    """Bring the database up to date and let a worker go on with what is queued."""
    from bench import worker

    try:
        with store.opened(settings.database):
            worker.ensure(settings)
    except BenchError as error:  # each page says it to its reader
        logging.getLogger("bench").error("%s", error)
    yield


settings = config.read()
if settings.hosts:
    streamlit_config.set_option("server.allowedHosts", [*settings.hosts, *gate.HERE])
served = settings.hosts or streamlit_config.get_option("server.allowedHosts")
base = who.base()
app = st.App(
    config.ROOT / "pages" / "router.py",
    routes=api.routes(who.asker, base),
    middleware=[
        Middleware(gate.Gate, served=served, base=base),
        Middleware(opengraph.OpenGraph, asker=who.asker, base=base),
    ],
    lifespan=lifespan,
)

"""What is chosen and asked before a start, beside model and workload."""

from collections.abc import Sequence

import streamlit as st

from bench import store
from bench.config import Config
from bench.errors import Fault
from bench.layout import plain
from bench.machine import machines, seen
from bench.machine.machines import Machine
from bench.memory import fit
from bench.memory.fit import Fit
from bench.plan import Plan
from bench.recipes import community, shared
from bench.recipes.community import Community
from bench.shown import offers
from bench.store import Run
from bench.text import Words


def machine(settings: Config, t: Words) -> Machine:
    """The machine to start on; nothing is asked where there is only this one."""
    known = machines.read(settings)
    if len(known) == 1:
        return known[machines.LOCAL]
    names = {id: one.name or t("launch.this_machine") for id, one in known.items()}
    chosen = st.radio(
        t("launch.machine"),
        list(known),
        format_func=lambda id: plain(names[id]),
        captions=[plain("" if one.id == machines.LOCAL else one.docker) for one in known.values()],
        key="machine",
    )
    return known[chosen]


def recipe(t: Words) -> Community:
    """A recipe of the community: one that came along, or a file. Raises BenchError."""
    names = {id: one.name for id, one in shared.shipped().items()}
    chosen = st.selectbox(t("launch.shared_which"), list(names), format_func=names.__getitem__)
    file = st.file_uploader(t("launch.shared_file"), type=["yaml", "yml"], max_upload_size=1)
    found = community.read(file.getvalue(), file.name) if file else shared.shipped()[chosen]
    st.caption(plain(found.description))
    st.caption(plain(t("launch.source", source=found.recipe.source)))
    return found


def happens(plan: Plan, runs: Sequence[Run], t: Words) -> None:
    """What the run will do, and how long such runs took."""
    st.subheader(t("launch.happens"))
    for number, sentence in enumerate(offers.happens(plan, t), 1):
        st.markdown(f"{number}. {plain(sentence)}")
    st.caption(offers.how_long(plan, runs, t) + t("launch.space") + t("launch.close"))


def command(plan: Plan, t: Words) -> None:
    """The exact command, and where its settings are from."""
    with st.expander(t("launch.command"), icon=":material/terminal:"):
        st.code(offers.command(plan), language="bash", wrap_lines=True)
        st.caption(plain(t("launch.source", source=plan.recipe.source)))


def button(t: Words, disabled: bool) -> bool:
    return st.button(
        t("launch.start"),
        type="primary",
        icon=":material/play_arrow:",
        key="start",
        disabled=disabled,
    )


def remarks(found: Sequence[Fault], t: Words) -> None:
    for one in found:
        st.caption(f":material/info: {plain(t.fault(one))}")


def image(settings: Config, plan: Plan, t: Words) -> bool | None:
    """Whether a missing image may be fetched; None while that has to be answered first."""
    wanted = plan.recipe.image
    if wanted is None:
        return True
    with store.opened(settings.database) as db:
        presence = seen.presence(seen.load(db, plan.host), wanted)
        size = seen.size(db, wanted)
    if presence == "here":
        return True
    told = t("launch.size_known", size=fit.gib(size)) if size else t("launch.size_unknown")
    st.warning(
        plain(t(f"launch.image_{presence}", image=wanted) + t("launch.space") + told),
        icon=":material/download:",
    )
    st.caption(t("launch.image_file"))
    st.code(f"docker load --input image.tar  # {wanted}", language="bash")
    ticked = st.checkbox(t("launch.fetch"), key=f"fetch-{wanted}")
    return ticked or (None if presence == "missing" else False)


def keep(plan: Plan, t: Words) -> bool:
    """Whether the engine is to run on afterwards."""
    if plan.recipe.image is None or plan.host != machines.LOCAL:
        return False
    return st.checkbox(t("launch.keep"), help=t("launch.keep_help"), key="keep")


def calculation(judged: Fit | None, t: Words) -> None:
    """How the fit was calculated, line by line."""
    if judged is None:
        return
    with st.expander(t("launch.fit_how"), icon=":material/calculate:"):
        for item in judged.items:
            size = "?" if item.bytes is None else fit.gib(item.bytes)
            name, how = t(f"fit.items.{item.what}"), t(f"fit.how.{item.how}")
            st.markdown(plain(t("launch.fit_line", name=name, size=size, how=how)))
        if judged.full_requests is not None:
            st.markdown(plain(t("fit.full_requests", count=round(judged.full_requests))))
        st.button(t("launch.fit_again"), icon=":material/refresh:")

"""What a reader chooses: an option, a recipe, the results of a page."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st
from msgspec.structs import replace

from bench.available import Choice
from bench.catalogue import Catalogue
from bench.layout import plain
from bench.memory.fit import Fit
from bench.planning import MEMORY_FLAGS, Overrides
from bench.recipes.community import Community
from bench.shown import offers
from bench.shown.offers import Offer
from bench.text import Words
from pages.elements import starting


def choice(label: str, options: Sequence[Offer], key: str) -> Offer:
    """One of a few options, each with a line about it; the first is chosen already."""
    by_id = {offer.id: offer for offer in options}
    chosen = st.radio(
        label,
        list(by_id),
        format_func=lambda id: plain(by_id[id].name),
        captions=[plain(offer.note) for offer in options],
        key=f"{key}-{'-'.join(by_id)}",
    )
    return by_id[chosen]


def asked(
    known: Catalogue, choices: Sequence[Choice], model: str, t: Words
) -> dict[str, Any] | Community:
    """What is to be started: arguments of `planning.plan_for`, or a recipe of the community."""
    if model == offers.ENDPOINT:
        return server(t)
    if model == offers.SHARED:
        return starting.recipe(t)
    engine = choice(t("launch.engine"), offers.engines(known, choices, model, t), "engine").id
    return recipe(model, engine, offers.artifacts(known, choices, model, engine), t)


def server(t: Words) -> dict[str, Any]:
    """A server that already runs, as arguments of `planning.plan_for`."""
    url = st.text_input(t("launch.url"), placeholder=t("launch.url_example"))
    with st.expander(t("launch.advanced"), icon=":material/tune:"):
        model = st.text_input(t("launch.served_model"))
        key_env = st.text_input(t("launch.key_env"), help=t("launch.key_env_help"))
    if not url:
        st.info(t("launch.url_missing"), icon=":material/info:")
        st.stop()
    return {"engine": "endpoint", "url": url, "model": model or None, "key_env": key_env or None}


def recipe(model: str, engine: str, artifacts: Mapping[str, str], t: Words) -> dict[str, Any]:
    """A recipe with the reader's changes, as arguments of `planning.plan_for`."""
    like = t("launch.as_recipe")
    with st.expander(t("launch.advanced"), icon=":material/tune:"):
        artifact = st.selectbox(
            t("launch.artifact"), list(artifacts), format_func=artifacts.__getitem__
        )
        context = st.number_input(
            t("launch.context"), 256, 1_048_576, None, step=256, placeholder=like
        )
        slots = st.number_input(t("launch.slots"), 1, 256, None, placeholder=like)
        memory = None
        if engine in MEMORY_FLAGS:
            memory = st.number_input(
                t("launch.memory"), 0.1, 0.95, None, step=0.05, placeholder=like
            )
    overrides = Overrides(context=context, slots=slots, memory=memory)
    return {"engine": engine, "model": model, "artifact": artifact, "overrides": overrides}


def chosen(ids: Sequence[str], labels: dict[str, str], t: Words) -> None:
    """The results of the page, to be changed; the address says what is chosen."""
    key = f"chosen-{'-'.join(ids)}"

    def choose() -> None:
        st.query_params["run"] = st.session_state[key]
        st.query_params.pop("c", None)  # no longer what was kept

    st.multiselect(
        t("compare.choose"),
        list(labels),
        default=[id for id in ids if id in labels],
        format_func=labels.__getitem__,
        placeholder=t("compare.choose_hint"),
        max_selections=8,
        key=key,
        on_change=choose,
    )


def fit(judged: Fit | None, t: Words) -> bool | None:
    """Whether the model fits now. True when a tight start is wished all the same, None when it
    can't be started."""
    if judged is None:
        return False
    said = [t(f"fit.verdict.{judged.verdict}")]
    said += [t.fault(replace(one.seen, remedy=one.remedy)) for one in judged.findings]
    if judged.verdict == "ready":
        st.success(plain("\n".join(said)), icon=":material/memory:")
        return False
    if judged.verdict == "wont_fit":
        st.error(plain("\n".join(said)), icon=":material/memory:")
        return None
    st.warning(plain("\n".join(said)), icon=":material/memory:")
    return st.checkbox(t("launch.tight"), key="tight") or None

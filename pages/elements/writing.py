"""What a comparison says of the models' Chinese."""

from collections.abc import Sequence

import streamlit as st

from bench import store
from bench.config import Config
from bench.layout import plain
from bench.results import Result
from bench.shown import taste
from bench.text import Words
from bench.votes import ballots


def verdict(settings: Config, results: Sequence[Result], t: Words) -> None:
    """Findings and votes in sentences; nothing where no two results answered the same questions."""
    ids = [result.id for result in results]
    with store.opened(settings.database) as db:
        held = [
            (ballots.named(db, one, t), ballots.votes_of(db, one.id))
            for one in ballots.among(db, ids)
        ]
    said = taste.sentences(results, held, t)
    if not said:
        return
    st.subheader(t("taste.heading"))
    for sentence in said:
        st.markdown(plain(sentence))
    st.page_link(
        "chinese.py", label=t("taste.read"), icon=":material/translate:", query_params={"run": ids}
    )

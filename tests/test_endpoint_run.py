"""A server that already runs is measured by its address, and left as it was."""

import os

import msgspec
import pytest

from bench import catalogue, planning, probe, store
from bench.catalogue import Workload
from bench.config import Config
from bench.running import perform, upkeep

pytestmark = pytest.mark.engine

TINY = Workload(
    id="tiny-1", name={"en": "Tiny", "zh-TW": "極小"}, prefill=(32,), decode=8, warmups=1,
    measured=2, answers=(), answer_tokens=16, levels=(1, 2), prompt_tokens=32, output_tokens=8,
    requests=4,
)  # fmt: skip


@pytest.mark.parametrize("suffix", ["", "/v1"])
def test_a_running_server_is_measured_and_keeps_running(
    config: Config, llama_url: str, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THE_KEY", "secret-of-the-endpoint")
    plan = planning.plan_for(
        catalogue.load(), config, engine="endpoint", workload="demo-1", url=llama_url + suffix,
        key_env="THE_KEY",
    )  # fmt: skip
    assert plan.model == "smollm2-135m", "the name comes from the server"
    plan = msgspec.structs.replace(plan, workload=TINY, prompts=())
    with store.opened(config.database) as db:
        run = store.submit(db, plan)
        claimed = store.claim(db)
    assert claimed
    upkeep.begin(config)
    perform.perform(config, claimed)
    with store.opened(config.database) as db:
        (row,) = store.load(db, [run])
        levels = store.levels(db, run)
        everything = msgspec.json.encode(store.everything(db, run))
    assert (row.state, row.fault) == ("done", None)
    assert [(level.name, level.ok) for level in levels] == [
        ("pp32", 2), ("tg8", 2), ("c1", 4), ("c2", 4),
    ]  # fmt: skip
    assert b"secret-of-the-endpoint" not in everything
    assert os.environ["THE_KEY"].encode() not in config.database.read_bytes()
    assert probe.ready(llama_url, "smollm2-135m")


def test_a_server_that_went_away_fails_the_run_with_a_sentence(
    config: Config, llama_url: str
) -> None:
    plan = planning.plan_for(
        catalogue.load(), config, engine="endpoint", workload="demo-1", url=llama_url
    )
    gone = msgspec.structs.replace(plan.recipe, url="http://127.0.0.1:9")
    with store.opened(config.database) as db:
        run = store.submit(db, msgspec.structs.replace(plan, recipe=gone))
        claimed = store.claim(db)
    assert claimed
    perform.perform(config, claimed)
    with store.opened(config.database) as db:
        (row,) = store.load(db, [run])
    assert row.state == "failed"
    assert row.fault and row.fault.code.startswith("endpoint_")

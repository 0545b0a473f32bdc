"""``python -m bench judge BALLOT``: ask a model for its opinion on the pairs of a blind vote.

Off unless it is asked for. The model is one behind an endpoint (``--url``, or the setting
``SPARK_COMPARE_JUDGE_URL``), or one of the catalogue that the engine of this machine can start
(``--catalogue``). Each pair is sent twice, in both orders, with the rubric of `opinion.py`.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from bench import catalogue, config, probe, store
from bench.config import Config
from bench.errors import BenchError
from bench.meter.client import ask_one
from bench.meter.target import Ask, Target, chat_body
from bench.people import actions
from bench.people.access import shell
from bench.planning import Overrides, plan_for
from bench.running import lock
from bench.text import preferred, words
from bench.votes import ballots, opinion, opinions
from bench.votes.ballots import Ballot, Offered
from bench.votes.opinion import Opinion
from bench.votes.opinions import Opined, Pair
from engines import process
from engines.launches import launch_for

KEY = "SPARK_COMPARE_JUDGE_KEY"
"""Environment variable with the endpoint's key, if it needs one."""
TOKENS = 2048
"""Limit of one reply: room to think."""
PATIENCE = 3
"""Pairs in a row that fail before it is given up."""
START_SECONDS = 300
CONTEXT = 8_192
"""Tokens that a judge of this machine gets: rubric, question, two answers and its reply."""


def judge(
    settings: Config,
    ballot: Ballot,
    name: str,
    ask: Callable[[str], str],
    done: Callable[[int, int], None] = lambda number, of: None,
) -> int:
    """Get and keep the opinion on each pair that this judge has not judged; how many were new.

    Raises what ``ask`` raises when `PATIENCE` pairs in a row failed.
    """
    who = shell(os.environ.get("USER", ""))
    with actions.acting(settings, who, "edit", judge=name, vote=ballot.id) as db:
        there, asked = ballots.offered(db, ballot), ballots.questions(db, ballot)
        known = {
            one.pair
            for one in opinions.of(db, ballot.id)
            if (one.judge, one.rubric) == (name, opinion.VERSION)
        }
    open_ones = [pair for pair in opinions.pairs(there) if pair not in known]
    failed = kept = 0
    for number, pair in enumerate(open_ones, 1):
        try:
            found = both_orders(ask, asked[pair.prompt], pair, there)
        except BenchError:
            failed += 1
            if failed >= PATIENCE:
                raise
            continue
        failed, kept = 0, kept + 1
        one = Opined(judge=name, rubric=opinion.VERSION, pair=pair, opinion=found)
        with store.opened(settings.database) as db:
            opinions.keep(db, ballot.id, one)
        done(number, len(open_ones))
    return kept


def both_orders(ask: Callable[[str], str], question: str, pair: Pair, there: Offered) -> Opinion:
    first, second = there[pair.prompt][pair.first], there[pair.prompt][pair.second]
    straight = ask(opinion.question(question, first, second))
    return opinion.combined(straight, ask(opinion.question(question, second, first)))


def asking(target: Target) -> Callable[[str], str]:
    """Asks a server; temperature 0."""

    def ask(question: str) -> str:
        body = chat_body(target, question, TOKENS)
        sample = asyncio.run(ask_one(target, Ask(id="judge", body=body, output_tokens=TOKENS)))
        if sample.error:
            raise BenchError("judge_failed", reason=sample.error)
        return sample.text

    return ask


def endpoint(settings: Config, url: str | None, model: str | None) -> Target:
    """The server that judges. Raises BenchError ``judge_off`` where none was named."""
    url, model = url or settings.judge_url, model or settings.judge_model
    if not url:
        raise BenchError("judge_off")
    key = KEY if os.environ.get(KEY) else None
    if not model:
        model = probe.served(url, probe.headers(key)).models[0]
    return Target(url=url, model=model, key_env=key)


@contextmanager
def of_catalogue(settings: Config, model: str) -> Iterator[Target]:
    """A model of the catalogue on llama.cpp's own server, for as long as it judges. The machine's
    worker waits meanwhile, so that no measurement is disturbed.

    Raises BenchError ``judge_busy``, ``judge_not_ready`` or what `plan_for` raises.
    """
    known = catalogue.load()
    limit = known.models[model].context if model in known.models else None
    plan = plan_for(
        known,
        settings,
        engine="llama.cpp-local",
        model=model,
        workload="demo-1",
        overrides=Overrides(context=min(limit or CONTEXT, CONTEXT), slots=1),
    )
    with lock.held(settings.lock) as mine:
        if not mine:
            raise BenchError("judge_busy")
        launch = launch_for(plan.recipe)
        engine = process.start(launch, f"judge-{model}", settings.var)
        try:
            deadline = time.monotonic() + START_SECONDS
            while not probe.ready(engine.url, launch.served):
                if engine.poll() or time.monotonic() > deadline:
                    raise BenchError("judge_not_ready", model=model)
                time.sleep(0.1)
            yield Target(url=engine.url, model=launch.served, engine="llama.cpp-local")
        finally:
            engine.stop()


def main(argv: Sequence[str]) -> int:
    """0: every pair has an opinion; 1: something was in the way."""
    asked = _parser().parse_args(argv)
    settings, t = config.read(), words(preferred(os.environ.get("LANG")))
    try:
        with store.opened(settings.database) as db:
            ballot = ballots.load(db, asked.ballot)
        if ballot is None:
            raise BenchError("ballot_unknown", id=asked.ballot[:40])
        if asked.catalogue:
            with of_catalogue(settings, asked.catalogue) as target:
                judge(settings, ballot, target.model, asking(target), _print)
        else:
            target = endpoint(settings, asked.url, asked.model)
            judge(settings, ballot, target.model, asking(target), _print)
    except BenchError as fault:
        print(t.fault(fault.fault), file=sys.stderr)
        return 1
    with store.opened(settings.database) as db:
        every, cast = opinions.of(db, ballot.id), ballots.votes_of(db, ballot.id)
    for panel in opinions.panels(every, cast):
        print("\n".join(opinions.sentences(ballot, panel, t)))
    return 0


def _print(number: int, of: int) -> None:
    print(f"{number}/{of}", file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench judge", description=__doc__)
    parser.add_argument("ballot", help="id of the vote, from its link")
    parser.add_argument("--url", help="base URL of the server that judges")
    parser.add_argument("--model", help="its model; the only one it serves without it")
    parser.add_argument(
        "--catalogue", metavar="MODEL", help="a model of the catalogue, on this CPU"
    )
    return parser

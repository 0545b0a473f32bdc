"""``python -m bench``: the same from a shell as from the pages."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

import msgspec

from bench import config as settings
from bench import store, worker
from bench.catalogue import load
from bench.config import Config
from bench.errors import BenchError
from bench.export import table as report
from bench.kept import questions
from bench.people import access, actions
from bench.planning import asking, plan_for
from bench.shown import sentences, tables
from bench.text import Words, preferred, words
from bench.web import links

ELSEWHERE = {
    "plan": ("bench.preview", "what a launch would do: memory fit, warnings, the exact command"),
    "diagnose": ("bench.running.diagnosis", "the root cause in an engine's log, and the remedy"),
    "truth": ("bench.truth.benchmark", "how far the meter is from a server of known timing"),
    "chinese": ("bench.chinese.report", "what is not Taiwan's Chinese in a text"),
    "judge": ("bench.votes.judging", "a model's opinion on the pairs of a blind vote"),
    "passcode": ("bench.people.passcode", "set the passcode that operators give from elsewhere"),
    "audit": ("bench.people.audit", "who did what, when, on which run"),
    "import": ("bench.imports.command", "results of other tools, and run bundles"),
    "bundle": ("bench.export.bundle", "runs as one file for another installation"),
    "pages-benchmark": (
        "bench.pages_benchmark",
        "the pages with a full store beside an empty page",
    ),
    "chinese-benchmark": ("bench.chinese.benchmark", "the Chinese check beside other tools"),
}
"""Commands with options of their own: module with ``main(argv) -> int``, and what it does."""


def main(argv: Sequence[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments and arguments[0] in ELSEWHERE:
        module, _ = ELSEWHERE[arguments[0]]
        return int(import_module(module).main(arguments[1:]))
    asked = _parser().parse_args(arguments)
    try:
        action: Callable[[Config, argparse.Namespace], int] = asked.action
        return action(settings.read(), asked)
    except BenchError as error:
        print(_words().fault(error.fault), file=sys.stderr)
        return 1


def _run(config: Config, asked: argparse.Namespace) -> int:
    """Queue a run; wait for its end unless told not to."""
    plan = plan_for(
        load(),
        config,
        model=asked.model,
        engine=asked.engine,
        artifact=asked.artifact,
        workload=asked.workload,
        url=asked.url,
        key_env=asked.key_env,
        seed=asked.seed,
        owner=os.environ.get("USER", ""),
    )
    if asked.questions:
        with store.opened(config.database) as db:
            plan = asking(plan, questions.load(db, asked.questions).prompts)
    run = actions.launch(config, _shell(), plan)
    print(run, flush=True)
    if asked.no_wait:
        return 0
    try:
        return _follow(config, run)
    except KeyboardInterrupt:
        actions.cancel(config, _shell(), run)
        return _follow(config, run)


def _follow(config: Config, run: str) -> int:
    """Print what happens until the run has ended; 0 when it is done."""
    t = _words()
    seen = 0
    while True:
        with store.opened(config.database) as db:
            (row,) = store.load(db, [run])
            events = store.events(db, run, after=seen)
        seen = events[-1].id if events else seen
        for happened in tables.timeline(events, t, None):
            print("  ".join(happened.values()), file=sys.stderr, flush=True)
        if not row.live:
            print(_headline(config, run))
            return 0 if row.state == "done" else 1
        worker.ensure(config)
        time.sleep(0.5)


def _list(config: Config, asked: argparse.Namespace) -> int:
    with store.opened(config.database) as db:
        for run in store.runs(db):
            print(f"{run.id}  {run.state:<12} {run.created[:16]}  {run.workload:<12} {run.title}")
    return 0


def _show(config: Config, asked: argparse.Namespace) -> int:
    with store.opened(config.database) as db:
        if not store.load(db, [asked.run]):
            raise BenchError("unknown_run", run=asked.run)
        everything = store.everything(db, asked.run)
        found = links.load(db, [asked.run], load(), _words())
    if asked.json:
        print(msgspec.json.format(msgspec.json.encode(everything)).decode())
    else:
        print(_headline(config, asked.run))
        print(report.table_markdown(tables.overview(found, _words())))
    return 0


def _cancel(config: Config, asked: argparse.Namespace) -> int:
    with store.opened(config.database) as db:
        if not store.load(db, [asked.run]):
            raise BenchError("unknown_run", run=asked.run)
    actions.cancel(config, _shell(), asked.run)
    return 0


def _worker(config: Config, asked: argparse.Namespace) -> int:
    worker.main()
    return 0


def _backup(config: Config, asked: argparse.Namespace) -> int:
    with store.opened(config.database) as db:
        store.backup(db, asked.file)
    return 0


def _headline(config: Config, run: str) -> str:
    """The run's sentence: what was found, or why nothing was."""
    t = _words()
    with store.opened(config.database) as db:
        (row,) = store.load(db, [run])
        (result,) = links.load(db, [run], load(), t)
    return sentences.outcome(result, t) or t(f"states.{row.state}")


def _shell() -> access.Actor:
    return access.shell(os.environ.get("USER", ""))


def _words() -> Words:
    return words(preferred(os.environ.get("LANG")))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Spark Compare in a shell")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, action: Callable[..., int], help: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=help, description=help)
        made.set_defaults(action=action)
        return made

    run = command("run", _run, "measure a model on an engine")
    run.add_argument("--model", help="catalogue id; of an endpoint, the model's name there")
    run.add_argument("--engine", required=True, help="catalogue id")
    run.add_argument("--artifact", help="form of the model, where an engine has several")
    run.add_argument("--workload", default="standard-1", help="catalogue id (default: standard-1)")
    run.add_argument("--questions", help="id of a set of own questions, in place of the workload's")
    run.add_argument("--url", help="base URL of an endpoint")
    run.add_argument("--key-env", help="environment variable that holds the endpoint's key")
    run.add_argument("--seed", type=int, help="for prompts made again")
    run.add_argument("--no-wait", action="store_true", help="queue it and return")
    command("list", _list, "all runs, newest first")
    show = command("show", _show, "one run")
    show.add_argument("run")
    show.add_argument("--json", action="store_true", help="everything that is stored")
    command("cancel", _cancel, "end a run").add_argument("run")
    command("worker", _worker, "work on queued runs until there are none")
    backup = command("backup", _backup, "copy the whole store while it is in use")
    backup.add_argument("file", type=Path)
    for name, (_, help) in ELSEWHERE.items():
        commands.add_parser(name, help=help, add_help=False)
    return parser


if __name__ == "__main__":
    sys.exit(main())

"""``python -m bench import FILE``: what a file of another tool or a run bundle says, and saved."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from bench import catalogue, config
from bench.config import Config
from bench.errors import BenchError
from bench.export import table as report
from bench.imports import preview
from bench.imports.keep import Kept
from bench.imports.values import Import
from bench.people import access
from bench.shown import incoming
from bench.text import Words, preferred, words


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench import", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--look", action="store_true", help="say what it is and save nothing")
    asked = parser.parse_args(argv)
    t = words(preferred(os.environ.get("LANG")))
    try:
        for kept in _import(config.read(), asked.file, asked.look, t):
            print(kept.run if kept.new else f"{kept.run}  {t('imports.already')}")
    except BenchError as error:
        print(t.fault(error.fault), file=sys.stderr)
        return 1
    except OSError as error:
        print(f"{asked.file}: {error.strerror}", file=sys.stderr)
        return 1
    return 0


def _import(settings: Config, file: Path, look: bool, t: Words) -> Sequence[Kept]:
    actor = access.shell(os.environ.get("USER", ""))
    found = incoming.read(file, file.name)
    print(incoming.what(found, file.name, t), file=sys.stderr)
    if isinstance(found, Import):
        _print(found, t)
    return () if look else incoming.save(settings, actor, found, file, catalogue.load())


def _print(found: Import, t: Words) -> None:
    for warning in found.warnings:
        print(t.fault(warning), file=sys.stderr)
    for result in found.results:
        for warning in result.warnings:
            print(t.fault(warning), file=sys.stderr)
        print(report.table_markdown(preview.rows(result, t)[0]), file=sys.stderr)

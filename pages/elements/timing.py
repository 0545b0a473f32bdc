"""How long the server takes for a page: ``python -m pages.elements.timing PAGE?QUERY… ``

Prints a JSON object, address → seconds of each of the draws; the first draw of all, which loads the
modules, is not among them. The page ``-`` shows nothing: what a page costs at least.
"""

import json
import sys
from collections.abc import Sequence
from time import perf_counter
from urllib.parse import parse_qs, urlsplit

from streamlit.testing.v1 import AppTest

from bench.config import ROOT

DRAWS = 5


def main(addresses: Sequence[str]) -> int:
    seconds = {address: _draws(address) for address in addresses}
    print(json.dumps(seconds))
    return 0


def _draws(address: str) -> list[float]:
    if address == "-":
        at = AppTest.from_string("import streamlit as st\nst.title('')", default_timeout=120)
        at.run()
    else:
        parts = urlsplit(address)
        at = AppTest.from_file(str(ROOT / "pages" / "router.py"), default_timeout=120)
        at.context = {"locale": "en-US", "url": "http://127.0.0.1/"}
        at.run()
        at.query_params.update(parse_qs(parts.query))
        at.switch_page(f"{parts.path}.py").run()
    if at.exception:
        raise RuntimeError(f"{address}: {at.exception[0].value}")
    return [_timed(at) for _ in range(DRAWS)]


def _timed(at: AppTest) -> float:
    begun = perf_counter()
    at.run()
    return perf_counter() - begun


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

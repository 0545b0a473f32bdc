"""A report in one HTML file: it opens without the app and without a network, and its charts can be
pointed at. Vega's scripts are inside; a policy inside forbids everything from elsewhere.

What names people, machines or folders is left out, and the report says what else is.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from html import escape
from typing import Any

import altair as alt
import vl_convert

from bench.charts.figure import Figure
from bench.export import post, redaction
from bench.export import table as report
from bench.export.picture import GROUND
from bench.results import Result
from bench.shown import tables, views
from bench.text import Words

LIMIT = 3_000_000
"""Bytes: what still goes into a mail."""
MANY = 1_000
"""Rows of a chart that may have to stay out."""
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; "
    "img-src data:; base-uri 'none'; form-action 'none'"
)
FONTS = "'Noto Sans TC', 'Noto Sans CJK TC', 'PingFang TC', 'Microsoft JhengHei', sans-serif"
STYLE = f"""
:root {{ color-scheme: light dark; --ground: #fdfcf9; --ink: #1f2a2e; --line: #dcdad0;
  --soft: #f2f1ea; --accent: #0f766e; }}
@media (prefers-color-scheme: dark) {{ :root {{ --ground: #12191b; --ink: #e6ebe9; --line: #344145;
  --soft: #1d272a; --accent: #6fc9be; }} }}
body {{ background: var(--ground); color: var(--ink); font: 16px/1.6 {FONTS};
  margin: 0 auto; max-width: 980px; padding: 24px 20px 64px; }}
h1 {{ font-size: 1.7rem; line-height: 1.3; }} h2 {{ font-size: 1.25rem; margin-top: 2.4rem; }}
.found {{ font-size: 1.15rem; border-left: 4px solid var(--accent); padding-left: 14px; }}
.chart {{ width: 100%; }} .small, figcaption {{ font-size: .85rem; opacity: .85; }}
figure {{ margin: 0; }} .scroll {{ overflow-x: auto; }}
table {{ border-collapse: collapse; font-size: .92rem; width: 100%; }}
th, td {{ border-bottom: 1px solid var(--line); padding: 6px 10px; text-align: left;
  min-width: 6.5em; }}
.number {{ text-align: right; font-variant-numeric: tabular-nums; }}
details {{ margin: 10px 0; }} summary {{ cursor: pointer; }}
pre {{ background: var(--soft); padding: 12px; white-space: pre-wrap; word-break: break-word; }}
"""
DRAW = """
const colours = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
for (const place of document.querySelectorAll('.chart')) {
  const spec = JSON.parse(place.querySelector('script').textContent);
  const config = JSON.parse(document.getElementById('looks').textContent)[colours];
  vegaEmbed(place, spec, {config, renderer: 'svg', actions: false, ast: true});
}
"""


def html(results: Sequence[Result], t: Words, timezone: str | None = None) -> bytes:
    """The report of a run or a comparison; what would make it too large stays out, answers first,
    and the report says so."""
    for dropped in ((), ("answers",), ("answers", "dots")):
        whole = _html(results, t, timezone, dropped)
        if len(whole) < LIMIT:
            break
    return whole


def _html(
    results: Sequence[Result], t: Words, timezone: str | None, dropped: Sequence[str]
) -> bytes:
    title = escape(post.title(results, t))
    body = [
        f"<h1>{title}</h1>",
        *(f'<p class="found">{escape(one)}</p>' for one in post.said(results, t)),
        *(_figure(one, t) for one in _few(post.figures(results, t), "dots" in dropped)),
        f"<h2>{escape(t('post.numbers'))}</h2>",
        f'<div class="scroll">{report.table_html(tables.overview(results, t))}</div>',
        f"<h2>{escape(t('post.how'))}</h2>",
        _list([*post.provenance(results, t, timezone), *post.warned(results, t)]),
    ]
    left_out: set[str] = set()
    for result in results:
        body += _settings(result, t, left_out)
    if "answers" not in dropped:
        body += [_answers(result, t) for result in results if result.answers]
    body += [_left_out(left_out, dropped, t), f'<p class="small">{escape(t("post.made"))}</p>']
    looks = _script(json.dumps({theme: _config(theme) for theme in GROUND}))
    return "\n".join(
        [
            f'<!doctype html>\n<html lang="{t.language}"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{title}</title><style>{STYLE}</style></head><body>",
            *body,
            f'<script type="application/json" id="looks">{looks}</script>',
            f"<script>{_library()}</script><script>{DRAW}</script></body></html>\n",
        ]
    ).encode()


def _figure(one: Figure, t: Words) -> str:
    chart = one.chart
    if not isinstance(chart, alt.FacetChart):
        chart = chart.properties(width="container")
    spec = chart.to_dict()
    spec["autosize"] = {"type": "fit-x", "contains": "padding"}
    spec["background"] = "transparent"
    caption = "<br>".join(escape(views.definition(metric, t)) for metric in one.metrics)
    return (
        f"<h2>{escape(one.title)}</h2><figure>"
        f'<div class="chart" role="img" aria-label="{escape(one.spoken)}">'
        f'<script type="application/json">{_script(json.dumps(spec))}</script></div>'
        f"<figcaption>{caption}</figcaption></figure>"
    )


def _settings(result: Result, t: Words, left_out: set[str]) -> list[str]:
    """What a reader needs to repeat a run, without the names of its place."""
    run = result.run
    if run is None:
        return []
    clean = redaction.of_run(run)
    command = clean.text(tables.command(run) or t(tables.no_command(run)))
    rows = [
        {name: clean.text(cell) for name, cell in row.items()} for row in tables.settings(run, t)
    ]
    left_out |= clean.left_out
    summary = f"{t('run.repeat')}{t('charts.colon')}{result.label}"
    table = report.table_html(rows)
    return [
        f"<details><summary>{escape(summary)}</summary><pre>{escape(command)}</pre>"
        f'<div class="scroll">{table}</div></details>'
    ]


def _answers(result: Result, t: Words) -> str:
    parts = [
        f"<h3>{escape(one.question)}</h3><pre>{escape(one.sample.text or '')}</pre>"
        for one in result.answers
    ]
    summary = f"{t('run.answers')}{t('charts.colon')}{result.label}"
    return f"<details><summary>{escape(summary)}</summary>{''.join(parts)}</details>"


def _few(drawn: Sequence[Figure], few: bool) -> list[Figure]:
    return [one for one in drawn if not few or len(one.rows) <= MANY]


def _left_out(kinds: set[str], dropped: Sequence[str], t: Words) -> str:
    said = [t(f"imports.left.{kind}") for kind in sorted(kinds)]
    said += [t("post.left_requests"), *(t(f"post.left_{one}") for one in dropped)]
    what = t("charts.list_separator").join(said)
    return f'<p class="small">{escape(t("post.left_out", what=what))}</p>'


def _list(lines: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(one)}</li>' for one in lines)}</ul>"


def _script(text: str) -> str:
    """JSON that can't end the script that it stands in."""
    return text.replace("<", "\\u003c")


def _config(theme: str) -> dict[str, Any]:
    _, ink, grid = next(value for name, value in GROUND.items() if name == theme)
    axis = {"labelColor": ink, "titleColor": ink, "gridColor": grid, "domainColor": grid}
    return {
        "font": FONTS,
        "axis": axis | {"labelFontSize": 13, "titleFontSize": 13, "tickColor": grid},
        "legend": {"labelColor": ink, "labelFontSize": 13, "titleColor": ink},
        "text": {"fontSize": 13},
        "view": {"stroke": None},
    }


@cache
def _library() -> str:
    """Vega with all it needs, which comes with vl-convert."""
    made = str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"))
    assert "</script" not in made.lower()
    return made

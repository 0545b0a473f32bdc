"""Results as a blog post in Markdown, with its pictures and tables beside it in a ZIP."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO

from bench import charts
from bench.charts.figure import Figure
from bench.export import picture
from bench.export import table as report
from bench.export.picture import Look
from bench.results import Result
from bench.shown import sentences, tables, views
from bench.text import Words

Files = Mapping[str, bytes]
"""Name → content."""
DATE = (2026, 1, 1, 0, 0, 0)
"""Of every file in a ZIP: the same results are the same bytes."""


def figures(results: Sequence[Result], t: Words) -> list[Figure]:
    """The charts of a page: a comparison's, or a run's."""
    if len(results) == 1:
        return [one for group in charts.of_run(results[0], t).values() for one in group]
    return charts.of_comparison(results, t)


def said(results: Sequence[Result], t: Words) -> list[str]:
    """What was found, in sentences."""
    if len(results) > 1:
        return list(sentences.compared(results, t))
    return [found] if (found := sentences.outcome(results[0], t)) else []


def warned(results: Sequence[Result], t: Words) -> list[str]:
    """What the sentences hold for, and what a reader must know, each said once."""
    every: list[str] = []
    for result in results:
        found = [*sentences.reasons(result, t), *sentences.warnings(result, t)]
        lead = result.label + t("charts.colon") if len(results) > 1 else ""
        every += [lead + one for one in found]
    return list(dict.fromkeys(every))


def title(results: Sequence[Result], t: Words) -> str:
    return t("post.against").join(result.label for result in results)


def files(results: Sequence[Result], t: Words, look: Look, timezone: str | None) -> Files:
    """The post with all that belongs to it.

    Raises BenchError ``fonts_missing`` where Chinese would become empty boxes.
    """
    drawn = figures(results, t)
    rows = tables.overview(results, t)
    values = tables.measurements(results, t)
    return {
        "post.md": _text(results, drawn, t, timezone).encode(),
        **pictures(drawn, t, look, timezone),
        "tables/overview.html": report.table_html(rows).encode(),
        "tables/results.csv": report.table_csv(values),
        "tables/results.json": report.table_json(values),
    }


def pictures(drawn: Iterable[Figure], t: Words, look: Look, timezone: str | None) -> Files:
    return {
        f"pictures/{one.name}.png": picture.png(one, views.caption(one, t, timezone), look)
        for one in drawn
    }


def packed(files: Files) -> bytes:
    """A ZIP of these files."""
    out = BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in files.items():
            made.writestr(zipfile.ZipInfo(name, DATE), content, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def _text(results: Sequence[Result], drawn: Sequence[Figure], t: Words, zone: str | None) -> str:
    parts = [f"# {plain(title(results, t))}", *map(plain, said(results, t))]
    for one in drawn:
        parts += [
            f"## {plain(one.title)}",
            f"![{_alt(one.spoken)}](pictures/{one.name}.png)",
            *(f"*{plain(views.definition(metric, t))}*" for metric in one.metrics),
        ]
    parts += [f"## {t('post.numbers')}", report.table_markdown(tables.overview(results, t))]
    parts += [f"## {t('post.how')}", *(f"- {plain(one)}" for one in provenance(results, t, zone))]
    parts += [f"- {plain(one)}" for one in warned(results, t)]
    parts += [t("post.made")]
    return "\n\n".join(parts) + "\n"


def provenance(results: Sequence[Result], t: Words, timezone: str | None) -> list[str]:
    """Where each result comes from, in a line."""
    return [views.source(result, t, timezone) for result in results]


def plain(text: str) -> str:
    """Text that Markdown shows as it is, on any blog."""
    return re.sub(r"([\\`*_\[\]<>#|&])", r"\\\1", text)


def _alt(text: str) -> str:
    """Words for those who can't see a picture, in the place that Markdown has for them."""
    return text.replace("[", "(").replace("]", ")").replace("\n", " ")

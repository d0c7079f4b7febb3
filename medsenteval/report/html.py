"""A page as one HTML file that needs nothing else: no network, no other file, no script but its own."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from medsenteval.errors import MissingExtraError
from medsenteval.report.charts import analogy_bars, gap_panels, subset_curves
from medsenteval.report.charts.drawing import COLOURS, Drawing, clean
from medsenteval.report.charts.svg import inline_svg
from medsenteval.report.figures import draw_heat_map, draw_intervals, draw_ranks
from medsenteval.report.page import Page
from medsenteval.statistics import FriedmanOutcome, Significance

__all__ = ["embedded_json", "render_page"]


def render_page(page: Page) -> str:
    """Return the page as HTML; every name and text in it is escaped, and its own style and script are the only ones allowed."""
    try:
        from jinja2 import Environment, FunctionLoader, StrictUndefined
        from markupsafe import Markup
    except ImportError as error:
        raise MissingExtraError("the report page", "jinja2", "report") from error

    def chart(drawing: Drawing, name: str) -> Markup:
        return Markup(inline_svg(drawing, name))

    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=FunctionLoader(_asset),
        # Mark-up of ours is a str too and must stay what it is.
        finalize=lambda value: clean(value) if type(value) is str else value,
    )
    environment.filters["p"] = _p
    style = _style()
    script = _asset("page.js")
    return environment.get_template("page.html").render(
        page=page,
        comparison=page.comparison,
        letters=page.letters,
        chart=chart,
        draw_heat_map=draw_heat_map,
        draw_ranks=draw_ranks,
        draw_intervals=draw_intervals,
        gap_panels=gap_panels,
        analogy_bars=analogy_bars,
        subset_curves=subset_curves,
        friedman=page.rank if isinstance(page.rank, FriedmanOutcome) else None,
        wilcoxon=page.rank if isinstance(page.rank, Significance) else None,
        wins=page.comparison.wins_ties_losses(),
        ranks=_mean_ranks(page),
        tests=sorted({column.test for column in page.comparison.columns if column.test}),
        style=Markup(style),
        script=Markup(script),
        payload=Markup(embedded_json(page.payload())),
        policy=_policy(style, script),
    )


def embedded_json(value: Mapping[str, Any]) -> str:
    """Return JSON that can stand inside a script element: nothing in it ends the element or a line of JavaScript."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return clean(text)


def _asset(name: str) -> str:
    return files("medsenteval.report").joinpath("assets", name).read_text("utf-8")


def _style() -> str:
    """Return the page's style with a class for each role that a figure's shapes can have."""
    roles = "".join(f".f-{role}{{fill:var(--{role})}}.s-{role}{{stroke:var(--{role})}}" for role in COLOURS)
    light = "".join(f"--{role}:{colour};" for role, colour in COLOURS.items())
    return _asset("page.css").replace("/*light*/", light).replace("/*roles*/", roles)


def _policy(style: str, script: str) -> str:
    """Return a content security policy that lets this very style and script run, and nothing be loaded from anywhere."""

    def digest(text: str) -> str:
        return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii") + "'"

    return f"default-src 'none'; style-src {digest(style)}; script-src {digest(script)}; base-uri 'none'; form-action 'none'"


def _mean_ranks(page: Page) -> dict[str, float]:
    if not isinstance(page.rank, FriedmanOutcome):
        return {}
    return {name: float(rank) for name, rank in zip(page.comparison.encoders, page.rank.mean_ranks, strict=True)}


def _p(value: float) -> str:
    return "< .0001" if value < 0.0001 else f"= {value:.4f}"

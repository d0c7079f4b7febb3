"""A page as one HTML file that needs nothing else: no network, no other file, no script but its own."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Final

from medsenteval.comparison.compare import without_hope
from medsenteval.comparison.decision import Decision
from medsenteval.report.charts.drawing import COLOURS, clean
from medsenteval.report.charts.figure_files import inline_svg
from medsenteval.report.figures import named_figures
from medsenteval.report.page_content import Page, group_of, short
from medsenteval.report.score_texts import number
from medsenteval.statistics import FriedmanOutcome, Significance
from medsenteval.support.atomic_files import file_name_of

#: Columns of the table of scores that go side by side on a printed page.
_PRINTED_COLUMNS: Final = 12
#: Tints of the table's cells; ink stays readable on each.
_TINTS: Final = 5
#: Colours of the page that no figure has.
_LIGHT: Final = {
    "tint": "#f6f7f9", "warn": "#fff4d6", "warn-ink": "#5c3d00", "good": "#0d652d", "focus": "#0b5cad", "bad": "#fbe0cf",
}  # fmt: skip
#: Every role on a dark screen.
_DARK: Final = {
    "ink": "#e6e9ed", "muted": "#a3acb7", "grid": "#343b44", "paper": "#15191e", "accent": "#6cb2f2", "second": "#f0a06a",
    "soft": "#56616d", "worse": "#23282f", "tint": "#1d2228", "warn": "#3a2f12", "warn-ink": "#ffdf94", "good": "#6fd08f",
    "focus": "#8cc5ff", "bad": "#4a2a17",
    "ramp0": "#1b2733", "ramp1": "#1c3247", "ramp2": "#1d3f5d", "ramp3": "#1f4d75", "ramp4": "#24598a", "ramp5": "#2c6ba0",
    "ramp6": "#6aa3d1", "ramp7": "#9cc8ea", "ramp8": "#c8e2f7",
    "line0": "#4aa8e0", "line1": "#f0803c", "line2": "#35c79a", "line3": "#e3a1c6", "line4": "#8fd0f5", "line5": "#f2bb4b",
    "line6": "#d6c94a", "line7": "#b8bec6",
}  # fmt: skip


def render_page(page: Page) -> str:
    """Return the page as HTML; every name and text in it is escaped, and its own style and script are the only ones allowed."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined
    from markupsafe import Markup

    figures = dict(named_figures(page))
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=FunctionLoader(_asset),
        # Mark-up of ours is a str too and must stay what it is.
        finalize=lambda value: clean(value) if type(value) is str else value,
    )
    environment.filters |= {"p": _p, "p_short": lambda value: _p(value).removeprefix("= ")}
    style, script = _style(), _asset("page.js")
    comparison = page.comparison
    last = len(comparison.encoders) - 1
    # Differences have the interval that goes with the level of their tests; scores and ranks have that of 95 %.
    confidence = f"{100 * (1 - comparison.level):g} %"
    pair = [(each, (each.interval.low, each.interval.high)) for each in page.headline.pair]

    def unit(found: Decision) -> float:
        """Return what a difference is divided by, so that points and correlations share an axis."""
        return 100.0 if found.unit == "percent" else 1.0

    return environment.get_template("page.html").render(
        page=page,
        comparison=comparison,
        headline=page.headline,
        letters=comparison.letters(),
        group_of=group_of,
        number=number,
        short=short,
        file_name_of=file_name_of,
        printed_columns=_PRINTED_COLUMNS,
        chart=lambda name, id: Markup(inline_svg(figures[name], id)),
        friedman=page.rank if isinstance(page.rank, FriedmanOutcome) else None,
        wilcoxon=page.rank if isinstance(page.rank, Significance) else None,
        without_hope=without_hope(page.rank, comparison.level),
        wins=comparison.wins_ties_losses(),
        places={encoder: found.rank for encoder, found, _ in page.headline.ranks},
        tint=lambda share: "t-" if share <= 0 else f"t{min(_TINTS - 1, int(share * _TINTS))}",
        # Where a mean rank lies between the first place (0) and the last (100).
        at=lambda rank: round(100 * (rank - 1) / last, 2),
        reach=max((abs(end) / unit(each) for each, ends in pair for end in ends), default=0.0) or 1.0,
        unit=unit,
        confidence=confidence,
        tests=sorted({column.test for column in comparison.columns if column.test}),
        style=Markup(style),
        script=Markup(script),
        policy=_policy(style, script),
        payload=Markup(embedded_json({"confidence": confidence, **page.payload()})),
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
    style = _asset("page.css").replace("/*roles*/", roles)
    for theme, colours in (("light", COLOURS | _LIGHT), ("dark", _DARK)):
        style = style.replace(f"/*{theme}*/", "".join(f"--{role}:{colour};" for role, colour in colours.items()))
    return style


def _policy(style: str, script: str) -> str:
    """Return a content security policy that lets this very style and script run, and nothing be loaded from anywhere."""
    digests = (base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii") for text in (style, script))
    style_digest, script_digest = (f"'sha256-{digest}'" for digest in digests)
    return f"default-src 'none'; style-src {style_digest}; script-src {script_digest}; base-uri 'none'; form-action 'none'"


def _p(value: float) -> str:
    return "< .0001" if value < 0.0001 else f"= {value:.4f}"

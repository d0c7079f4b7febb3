"""Comparisons as text, Markdown, LaTeX or CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import combinations
from typing import Final

from medsenteval.comparison.compare import ranking, without_hope
from medsenteval.comparison.decision import items_to_decide, smallest_shown
from medsenteval.comparison.published.numbers import PublishedNumber
from medsenteval.comparison.significance import Column, Comparison
from medsenteval.contracts import MARK_NOTES
from medsenteval.errors import SettingsError
from medsenteval.report.score_texts import difference, number
from medsenteval.running.job_identity import training_note
from medsenteval.running.score_table import SYNTHETIC_WARNING
from medsenteval.statistics import FriedmanOutcome
from medsenteval.support.escaping import for_csv, for_latex, for_markdown, for_terminal
from medsenteval.support.grouping import grouped
from medsenteval.support.text_table import text_table

_LATEX_MARKS: Final = {ord("†"): r"\dag{}", ord("‡"): r"\ddag{}", ord("§"): r"\S{}", ord("¶"): r"\P{}"}

_MINUS: Final = re.compile(r"(?<![\w.])-(?=\d)")

_THEY_SHOW: Final = "They show: the smallest difference of the two best that the items would show in four of five experiments."
_TO_DECIDE: Final = "To decide: how many items would show, as often, the difference of a pair that is not significant."

_Escape = Callable[[str], str]
_ESCAPES: Final[dict[str, _Escape]] = {"text": for_terminal, "markdown": for_markdown, "latex": for_latex, "csv": for_csv}
FORMATS: Final = tuple(_ESCAPES)


class Markup(str):
    """A cell that is written in the language of its table already; all others are texts and are escaped."""


@dataclass(frozen=True)
class TableOptions:
    """What a table shows: these metrics (none named: those of the papers' tables), turned round, with so many digits.

    ``digits`` are those of percentages; correlations get one more. ``caption`` and ``notes`` (what marks and letters mean)
    are added to Markdown and LaTeX, which hold the table alone without them. ``differences`` asks for the table of
    differences in place of the scores, ``against`` for those to one encoder.
    """

    metrics: tuple[str, ...] = ()
    transpose: bool = False
    digits: int = 2
    caption: str = ""
    notes: bool = False
    differences: bool = False
    against: str = ""


def render_comparison(comparison: Comparison, style: str = "text", options: TableOptions | None = None) -> str:
    """Return a comparison in one of FORMATS: as text whole, in the others its scores, or its differences if asked for."""
    options = options or TableOptions()
    known = dict.fromkeys(column.metric for column in comparison.columns)
    if unknown := [name for name in options.metrics if name not in known]:
        raise SettingsError(f"no task has the metric {unknown[0]!r}; there are {', '.join(known)}")
    asked = options.differences or bool(options.against)
    differences = _differences(comparison, style, options) if asked or style == "text" else ""
    if asked and not differences and style != "text":
        raise SettingsError("no pair of encoders was tested, so there is no table of differences")
    if style == "csv":
        return differences or _csv(comparison, options)
    notes = [f"Note: {note}." for note in comparison.notes_on(_shown_columns(comparison, options))]
    notes += _published_notes(comparison, options)
    if comparison.synthetic:
        notes.append(SYNTHETIC_WARNING)
    if style == "text":
        legend = _legend(comparison, options)
        if any(column.tested for column in comparison.columns):
            legend += [_THEY_SHOW, _TO_DECIDE] if differences else [_THEY_SHOW]
        parts = [_scores(comparison, style, options), _paragraph(legend), differences, _summary(comparison), _paragraph(notes)]
        return "\n\n".join(filter(None, parts))
    legend = [] if asked else [line.replace("* (bold)", "bold") for line in _legend(comparison, options)]
    below = [*legend, *notes]
    # What keeps a number from being misread is always seen; the rest is a comment unless it is asked for.
    always = {SYNTHETIC_WARNING, *(f"{note}." for note in MARK_NOTES.values())}
    seen = [line for line in below if options.notes or line in always]
    comments = [_comment(line, style) for line in below if line not in seen]
    gap = [""] if comments and style == "markdown" else []
    table = differences or _scores(comparison, style, options)
    return "\n".join([*comments, *gap, _framed(table, style, options.caption, seen)])


def _comment(text: str, style: str) -> str:
    """Return a line that is in the file and not in the document."""
    shown = for_terminal(text)
    return f"% {shown}" if style == "latex" else f"<!-- {escape(shown.replace('--', '- -'))} -->"


def _framed(table: str, style: str, caption: str, notes: Sequence[str]) -> str:
    """Put a caption above and notes below a table of Markdown or LaTeX; nothing is added without them."""
    said = [escape_cell(note, style) for note in notes]
    if style == "markdown":
        above = [escape_cell(caption, style)] if caption else []
        return "\n\n".join([*above, table, *(["\n".join(f"- {note}" for note in said)] if said else [])])
    if not caption and not said:
        return table
    lines = [r"\begin{table}", r"\centering", *([rf"\caption{{{escape_cell(caption, style)}}}"] if caption else []), table]
    if said:
        lines.append(r"\par\smallskip\begin{minipage}{\linewidth}\footnotesize " + " ".join(said) + r"\end{minipage}")
    return "\n".join([*lines, r"\end{table}"])


def _p(value: float) -> str:
    return "<.0001" if value < 0.0001 else f"{value:.4f}".lstrip("0") if value < 1 else "1"


def _shown_columns(comparison: Comparison, options: TableOptions) -> list[Column]:
    chosen = options.metrics
    return [column for column in comparison.columns if (column.metric in chosen if chosen else column.headline)]


def _scores(comparison: Comparison, style: str, options: TableOptions) -> str:
    columns = _shown_columns(comparison, options)
    letters = comparison.letters()
    labels = [column.label for column in columns]
    titles = [c.label if labels.count(c.label) == 1 else f"{c.label} {c.metric}" for c in columns]
    rows = []
    for encoder in comparison.encoders:
        cells = [_cell(column, encoder, comparison, style, options.digits) for column in columns]
        rows.append([letters[encoder], encoder, str(comparison.sizes[encoder]), *cells])
    for name, numbers in _published_rows(comparison, options).items():
        found = [numbers.get((column.task, column.metric)) for column in columns]
        cells = ["-" if n is None else number(n.value, n.unit, digits=options.digits) + "?" * bool(n.suspect) for n in found]
        rows.append(["†", name, "", *cells])
    baselines = [number(column.baseline, column.unit, digits=options.digits) for column in columns]
    rows.append(["", "constant answer", "", *baselines])
    if style == "text" and any(column.tested for column in columns):
        shows = [(smallest_shown(column, comparison.level), column.unit) for column in columns]
        scored = [column.n_common or max(score.n for score in column.scores.values()) for column in columns]
        rows.append(["", "items", "", *(f"{n:,}" for n in scored)])
        rows.append(["", "they show", "", *("-" if least is None else number(least, unit) for least, unit in shows)])
    if not options.transpose:
        header = ["", "Encoder", "Size", *titles]
        return render_table(header, rows, [False, False, *[True] * (len(columns) + 1)], style, last_apart=True)
    names = [f"{row[0]} {row[1]}".strip() for row in rows]
    turned = [[title, *(row[place] for row in rows)] for place, title in enumerate(titles, start=3)]
    return render_table(["Task", *names], turned, [False, *[True] * len(rows)], style)


def _cell(column: Column, encoder: str, comparison: Comparison, style: str, digits: int) -> str:
    if encoder not in column.scores:
        return "-"
    value = number(column.scores[encoder].value, column.unit, digits=digits) + column.marks[encoder]
    best = encoder in column.best()
    beaten = column.beaten_by(encoder, comparison.level)
    if style == "latex":
        marks = ",".join(lettered(comparison, beaten)).replace("–", "--")
        value = rf"\textbf{{{value}}}" if best else value
        return Markup(rf"{value}\textsuperscript{{{marks}}}" if marks else value)
    if style == "markdown":
        value = f"**{value}**" if best else value
        return Markup(f"{value}<sup>{' '.join(lettered(comparison, beaten))}</sup>" if beaten else value)
    names = " ".join(comparison.letters()[other] for other in comparison.encoders if other in beaten)
    return value + ("*" if best else "") + (f" {names}" if names else "")


def lettered(comparison: Comparison, encoders: Sequence[str]) -> tuple[str, ...]:
    """Return the letters of encoders in the order of the table; three or more in a row become "d–h"."""
    letters = list(comparison.letters().values())
    places = sorted(comparison.encoders.index(encoder) for encoder in encoders)
    said: list[str] = []
    # Places that follow each other are all as far from their number in the list.
    for run in grouped((place - i, letters[place]) for i, place in enumerate(places)).values():
        said += [f"{run[0]}–{run[-1]}"] if len(run) > 2 else run
    return tuple(said)


def _legend(comparison: Comparison, options: TableOptions) -> list[str]:
    tests = sorted({column.test for column in comparison.columns if column.test})
    lines = []
    if any(column.best() for column in comparison.columns):
        lines.append("Best of a column: * (bold), shared by scores that lie less than half of what one item moves apart.")
    if tests:
        corrected = "uncorrected" if comparison.correction == "none" else f"{comparison.correction} within a column"
        how = f"{' and '.join(tests)}, {corrected}"
        lines.append(f"Letters: significantly better than these encoders at {comparison.level:g} ({how}).")
    shown = _shown_columns(comparison, options)
    marks = {mark for column in shown for encoder in column.scores for mark in column.marks[encoder]}
    lines += [f"{note}." for mark, note in MARK_NOTES.items() if mark in marks]
    if not comparison.synthetic:
        told = {(column.key, encoder): declared for column in shown for encoder, declared in column.trained_on.items()}
        lines.append(f"{training_note(told.values())}.")
    if comparison.published:
        lines.append("† published: no per-item predictions, so not testable and not ranked; ? suspect (see below).")
    return lines


def _differences(comparison: Comparison, style: str, options: TableOptions) -> str:
    """Return the differences that are asked for; as text also every pair's of two or three encoders."""
    pairs = list(combinations(comparison.encoders, 2))
    if options.against:
        pairs = [(encoder, options.against) for encoder in comparison.encoders if encoder != options.against]
    elif len(comparison.encoders) > 3 and not options.differences:
        return ""
    rows = []
    for column in _shown_columns(comparison, options):
        for first, second in pairs:
            found = column.difference(first, second)
            if found is None:
                continue
            ends = found.interval
            seen = difference(ends.estimate, ends.low, ends.high, column.unit, options.digits)
            tested = [_p(found.p_value), _p(found.corrected), column.test, f"{column.n_common:,}"]
            needed = items_to_decide(column, first, second, comparison.level)
            last = "-" if needed is None else f"{needed:,}"
            rows.append([column.label, column.metric, first, second, *seen, *tested, last])
    if not rows:
        return ""
    header = ["Task", "Metric", "First", "Second", "Difference", "95 % interval", "p", "corrected", "Test", "n", "To decide"]
    return render_table(header, rows, [False, False, False, False, True, True, True, True, False, True, True], style)


def _summary(comparison: Comparison) -> str:
    header = ["Encoder", "Wins", "Ties", "Losses"]
    rows = [[encoder, *map(str, counts)] for encoder, counts in comparison.wins_ties_losses().items()]
    outcome = ranking(comparison)
    hopeless = without_hope(outcome, comparison.level)
    if isinstance(outcome, FriedmanOutcome):
        header.append("Mean rank")
        ranks = outcome.mean_ranks.tolist()
        rows = [[*rows[i], f"{ranks[i]:.2f}"] for i in sorted(range(len(rows)), key=ranks.__getitem__)]
        said = f"Over {outcome.n_tasks} tasks: Friedman p {_p(outcome.p_value)}"
        if not hopeless:
            apart = f"{outcome.critical_difference:.2f}"
            said += f"; mean ranks that differ by {apart} or more differ at {outcome.level:g} (Nemenyi)"
    elif isinstance(outcome, str):
        said = f"No ranks: {outcome}"
    else:
        said = f"Over {outcome.n} tasks: Wilcoxon p {_p(outcome.p_value)}"
    said = f"{said}. {hopeless}".strip()
    if not any(column.tested for column in comparison.columns) and not isinstance(outcome, FriedmanOutcome):
        return said
    return f"{render_table(header, rows, [False, *[True] * (len(header) - 1)], 'text')}\n{said}"


def _published_rows(comparison: Comparison, options: TableOptions) -> dict[str, dict[tuple[str, str], PublishedNumber]]:
    shown = {(column.task, column.metric) for column in _shown_columns(comparison, options)}
    rows: dict[str, dict[tuple[str, str], PublishedNumber]] = {}
    for each in comparison.published:
        if (each.task, each.metric) in shown:
            rows.setdefault(f"{each.encoder} [{each.table}]", {}).setdefault((each.task, each.metric), each)
    return rows


def _published_notes(comparison: Comparison, options: TableOptions) -> list[str]:
    """Say how published numbers differ from ours, and which are suspect."""
    used = [number for numbers in _published_rows(comparison, options).values() for number in numbers.values()]
    notes = [f"[{table}] {source}: {how}." for table, source, how in dict.fromkeys((n.table, n.source, n.how) for n in used)]
    ours = {(column.task, column.metric): column.protocol for column in _shown_columns(comparison, options)}
    differing = []
    for n in used:
        protocol = f"{n.protocol}, {n.probe}" if n.probe else n.protocol
        if protocol != ours[n.task, n.metric]:
            said = f"under {protocol or 'an unstated protocol'}, ours under {ours[n.task, n.metric]}"
            differing.append((f"[{n.table}] {said}", n.task))
        if n.differs:
            differing.append((f"[{n.table}] {n.differs}", n.task))
    notes += [f"Differs, {', '.join(dict.fromkeys(tasks))}: {reason}." for reason, tasks in grouped(differing).items()]
    suspects = grouped(((n.encoder, n.table, n.suspect), f"{n.task} {n.metric}") for n in used if n.suspect)
    notes += [f"? {encoder}, {', '.join(cells)} [{table}]: {why}." for (encoder, table, why), cells in suspects.items()]
    if used and comparison.synthetic:
        notes.append("Ours are scores on synthetic sample data: published numbers beside them compare nothing.")
    return notes


def escape_cell(text: str, style: str) -> Markup:
    """Keep what a name or a text holds from being read as mark-up or obeyed."""
    return text if isinstance(text, Markup) else Markup(_ESCAPES[style](text))


def _paragraph(lines: Sequence[str]) -> str:
    return "\n".join(for_terminal(line) for line in lines)


def render_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool], style: str, last_apart: bool = False
) -> str:  # fmt: skip
    """Return a table in one of FORMATS, every cell escaped but those that are Markup; ``right`` are columns of numbers.

    In LaTeX (booktabs) ``last_apart`` draws a rule above the last row.
    """
    if style == "csv":  # whose cell is empty where "-" says that there is nothing
        rows = [["" if cell == "-" else cell for cell in row] for row in rows]
    header, *rows = ([escape_cell(cell, style) for cell in row] for row in (header, *rows))
    if style == "csv":
        stream = io.StringIO()
        csv.writer(stream, lineterminator="\n").writerows([header, *rows])
        return stream.getvalue().rstrip("\n")
    if style == "text":
        return text_table(header, rows, right)
    if style == "markdown":
        rule: Sequence[str] = ["---:" if number else "---" for number in right]
        return "\n".join(f"| {' | '.join(row)} |" for row in (header, rule, *rows))
    # Scores with superscripts are aligned at the left, where their digits stand below each other.
    marked = [any("superscript" in row[place] for row in rows) for place in range(len(header))]
    columns = "".join("r" if number and not mark else "l" for number, mark in zip(right, marked, strict=True))
    # A hyphen before a number is a minus.
    rows = [[_MINUS.sub("$-$", cell) if number else cell for cell, number in zip(row, right, strict=True)] for row in rows]
    lines = [" & ".join(cell.translate(_LATEX_MARKS) for cell in row) + r" \\" for row in rows]
    if last_apart:
        lines.insert(len(lines) - 1, r"\midrule")
    head = [r"% needs \usepackage{booktabs}", rf"\begin{{tabular}}{{{columns}}}", r"\toprule", " & ".join(header) + r" \\"]
    return "\n".join([*head, r"\midrule", *lines, r"\bottomrule", r"\end{tabular}"])


def _csv(comparison: Comparison, options: TableOptions) -> str:
    """Return a line for each score, ours and published; ``n`` are the items of its test, and without a test its own."""
    header = (
        "task", "metric", "protocol", "encoder", "origin", "value", "low", "high", "baseline", "n", "best", "tested", "p",
        "better_than", "note",
    )  # fmt: skip
    rows: list[list[object]] = []
    for column in _shown_columns(comparison, options) if options.metrics else comparison.columns:
        best = column.best()
        for encoder, metric in column.scores.items():
            place = [column.label, column.metric, column.protocol, encoder, "this toolkit"]
            values = [metric.value, metric.low, metric.high, metric.baseline, column.n_common if column.tested else metric.n]
            others = [other for other in column.tested if other != encoder] if encoder in column.tested else []
            p_values = [column.corrected[column.tested.index(encoder), column.tested.index(other)] for other in others]
            beaten = column.beaten_by(encoder, comparison.level)
            lists = ["; ".join(others), "; ".join(f"{p:.4g}" for p in p_values), "; ".join(beaten)]
            note = "; ".join(filter(None, (column.untested, *(MARK_NOTES[mark] for mark in column.marks[encoder]))))
            rows.append([*place, *values, int(encoder in best), *lists, note])
    for numbers in _published_rows(comparison, options).values():
        for n in numbers.values():
            place = [n.task, n.metric, n.protocol, n.encoder, n.table]
            rows.append([*place, n.value, *[""] * 8, n.suspect or n.differs])
    return render_table(header, [[str(value) for value in row] for row in rows], [], "csv")

"""Comparisons as text, Markdown, LaTeX or CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Final

from medsenteval.compare import Column, Comparison, ranking
from medsenteval.published.numbers import PublishedNumber
from medsenteval.report.table import SYNTHETIC_WARNING, text_table
from medsenteval.statistics import FriedmanOutcome

__all__ = ["FORMATS", "escape_cell", "render_comparison", "render_table"]

FORMATS: Final = ("text", "markdown", "latex", "csv")

_LATEX: Final = str.maketrans(
    {
        "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
        "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}",
    }
)  # fmt: skip


def render_comparison(comparison: Comparison, style: str = "text", against: str = "") -> str:
    """Return the whole comparison in one of FORMATS: scores, differences, wins and ranks, notes."""
    if style == "csv":
        return _csv(comparison)
    parts = [_scores(comparison, style)]
    parts.append(_paragraph(_legend(comparison), style))
    differences = _differences(comparison, style, against)
    if differences:
        parts.append(differences)
    parts.append(_summary(comparison, style))
    notes = [f"Note: {note}." for note in comparison.notes]
    notes += _published_notes(comparison)
    if comparison.synthetic:
        notes.append(SYNTHETIC_WARNING)
    if notes:
        parts.append(_paragraph(notes, style))
    return "\n\n".join(parts)


def _number(value: float, unit: str, signed: bool = False) -> str:
    return format(value, ("+" if signed else "") + (".2f" if unit == "percent" else ".3f"))


def _p(value: float) -> str:
    return "<.0001" if value < 0.0001 else f"{value:.4f}".lstrip("0") if value < 1 else "1"


def _shown_columns(comparison: Comparison) -> list[Column]:
    return [column for column in comparison.columns if column.headline]


def _title(column: Column, columns: Sequence[Column]) -> str:
    alone = sum(other.label == column.label for other in columns) == 1
    return column.label if alone else f"{column.label} {column.metric}"


def _scores(comparison: Comparison, style: str) -> str:
    columns = _shown_columns(comparison)
    letters = comparison.letters()
    header = ["", "Encoder", "Size", *(_title(column, columns) for column in columns)]
    rows = []
    for encoder in comparison.encoders:
        cells = [_cell(column, encoder, letters, comparison.level, style) for column in columns]
        rows.append([letters[encoder], escape_cell(encoder, style), str(comparison.sizes[encoder]), *cells])
    for name, numbers in _published_rows(comparison).items():
        cells = []
        for column in columns:
            number = numbers.get((column.task, column.metric))
            doubt = "?" if number is not None and number.suspect else ""
            cells.append("-" if number is None else _number(number.value, number.unit) + doubt)
        rows.append(["†", escape_cell(name, style), "", *cells])
    baselines = [_number(column.baseline, column.unit) for column in columns]
    rows.append(["", "constant answer", "", *baselines])
    return render_table(header, rows, [False, False, *[True] * (len(columns) + 1)], style)


def _cell(column: Column, encoder: str, letters: dict[str, str], level: float, style: str) -> str:
    if encoder not in column.scores:
        return "-"
    value = _number(column.scores[encoder].value, column.unit)
    best = encoder in column.best() and len(column.scores) > 1
    beaten = " ".join(letters[other] for other in column.beaten_by(encoder, level))
    if style == "latex":
        value = rf"\textbf{{{value}}}" if best else value
        return f"{value}$^{{{beaten.replace(' ', ',')}}}$" if beaten else value
    if style == "markdown":
        value = f"**{value}**" if best else value
        return f"{value}<sup>{beaten}</sup>" if beaten else value
    return value + ("*" if best else "") + (f" {beaten}" if beaten else "")


def _legend(comparison: Comparison) -> list[str]:
    tests = sorted({column.test for column in comparison.columns if column.test})
    lines = ["Best of a column: * (bold)."]
    if tests:
        corrected = "uncorrected" if comparison.correction == "none" else f"{comparison.correction} within a column"
        lines.append(
            f"Letters: significantly better than these encoders at {comparison.level:g} ({' and '.join(tests)}, {corrected})."
        )
    if comparison.published:
        lines.append("† published: no per-item predictions, so not testable and not ranked; ? suspect (see below).")
    return lines


def _differences(comparison: Comparison, style: str, against: str) -> str:
    """Return every pair's difference for two or three encoders, else only those to ``against``."""
    pairs = [(a, b) for i, a in enumerate(comparison.encoders) for b in comparison.encoders[i + 1 :]]
    if against:
        pairs = [(encoder, against) for encoder in comparison.encoders if encoder != against]
    elif len(comparison.encoders) > 3:
        return ""
    rows = []
    for column in _shown_columns(comparison):
        for first, second in pairs:
            found = column.difference(first, second)
            if found is None:
                continue
            low, high = (_number(value, column.unit, True) for value in (found.interval.low, found.interval.high))
            names = [escape_cell(text, style) for text in (column.label, column.metric, first, second)]
            difference = _number(found.interval.estimate, column.unit, True)
            p_values = [_p(found.p_value), _p(found.corrected)]
            rows.append([*names, difference, f"[{low}, {high}]", *p_values, found.test, f"{column.n_common:,}"])
    if not rows:
        return ""
    header = ["Task", "Metric", "First", "Second", "Difference", "95 % interval", "p", "corrected", "Test", "n"]
    return render_table(header, rows, [False, False, False, False, True, True, True, True, False, True], style)


def _summary(comparison: Comparison, style: str) -> str:
    counted = comparison.wins_ties_losses()
    outcome = ranking(comparison)
    ranks = outcome.mean_ranks if isinstance(outcome, FriedmanOutcome) else None
    header = ["Encoder", "Wins", "Ties", "Losses", *(["Mean rank"] if ranks is not None else [])]
    rows = []
    for i, encoder in enumerate(comparison.encoders):
        extra = [] if ranks is None else [f"{ranks[i]:.2f}"]
        rows.append([escape_cell(encoder, style), *map(str, counted[encoder]), *extra])
    if isinstance(outcome, FriedmanOutcome):
        order = sorted(range(len(rows)), key=lambda i: float(outcome.mean_ranks[i]))
        rows = [rows[i] for i in order]
        said = (
            f"Over {outcome.n_tasks} tasks: Friedman p {_p(outcome.p_value)}; mean ranks that differ by "
            f"{outcome.critical_difference:.2f} or more differ at {outcome.level:g} (Nemenyi)."
        )
    elif isinstance(outcome, str):
        said = f"No ranks: {outcome}."
    else:
        said = f"Over {outcome.n} tasks: Wilcoxon p {_p(outcome.p_value)}."
    table = render_table(header, rows, [False, *[True] * (len(header) - 1)], style)
    return f"{table}\n{_paragraph([said], style)}" if style == "text" else f"{table}\n\n{_paragraph([said], style)}"


def _published_rows(comparison: Comparison) -> dict[str, dict[tuple[str, str], PublishedNumber]]:
    shown = {(column.task, column.metric) for column in _shown_columns(comparison)}
    rows: dict[str, dict[tuple[str, str], PublishedNumber]] = {}
    for number in comparison.published:
        if (number.task, number.metric) in shown:
            rows.setdefault(f"{number.encoder} [{number.table}]", {}).setdefault((number.task, number.metric), number)
    return rows


def _published_notes(comparison: Comparison) -> list[str]:
    """Say how published numbers differ from ours, and which are suspect."""
    used = [number for numbers in _published_rows(comparison).values() for number in numbers.values()]
    notes = [f"[{table}] {source}: {how}." for table, source, how in dict.fromkeys((n.table, n.source, n.how) for n in used)]
    ours = {(column.task, column.metric): column.protocol for column in _shown_columns(comparison)}
    differing: dict[str, list[str]] = {}
    for number in used:
        protocol = f"{number.protocol}, {number.probe}" if number.probe else number.protocol
        if protocol != ours[number.task, number.metric]:
            reason = (
                f"[{number.table}] under {protocol or 'an unstated protocol'}, ours under {ours[number.task, number.metric]}"
            )
            differing.setdefault(reason, []).append(number.task)
        if number.differs:
            differing.setdefault(f"[{number.table}] {number.differs}", []).append(number.task)
    notes += [f"Differs, {', '.join(dict.fromkeys(tasks))}: {reason}." for reason, tasks in differing.items()]
    suspects: dict[tuple[str, str, str], list[str]] = {}
    for number in used:
        if number.suspect:
            suspects.setdefault((number.encoder, number.table, number.suspect), []).append(f"{number.task} {number.metric}")
    notes += [f"? {encoder}, {', '.join(cells)} [{table}]: {why}." for (encoder, table, why), cells in suspects.items()]
    if used and comparison.synthetic:
        notes.append("Ours are scores on synthetic sample data: published numbers beside them compare nothing.")
    return notes


def escape_cell(text: str, style: str) -> str:
    """Keep what a name holds from being read as mark-up."""
    if style == "latex":
        return text.translate(_LATEX)
    return text.replace("|", r"\|") if style == "markdown" else text


def _paragraph(lines: Sequence[str], style: str) -> str:
    if style == "markdown":
        return "\n".join(f"- {escape_cell(line, style)}" for line in lines)
    if style == "latex":
        return "\n\n".join(escape_cell(line, style) for line in lines)
    return "\n".join(lines)


def render_table(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool], style: str) -> str:
    """Return a table as text, Markdown or LaTeX, or its rows as CSV; ``right`` says which columns hold numbers."""
    if style == "csv":
        stream = io.StringIO()
        csv.writer(stream, lineterminator="\n").writerows([header, *rows])
        return stream.getvalue().rstrip("\n")
    if style == "text":
        return text_table(header, rows, right)
    header = [escape_cell(title, style) for title in header]
    if style == "markdown":
        rule = ["---:" if number else "---" for number in right]
        return "\n".join(f"| {' | '.join(row)} |" for row in (header, rule, *rows))
    columns = "".join("r" if number else "l" for number in right)
    lines = [rf"\begin{{tabular}}{{{columns}}}", r"\hline", " & ".join(header) + r" \\", r"\hline"]
    lines += [" & ".join(cell.replace("†", r"\dag{}") for cell in row) + r" \\" for row in rows]
    return "\n".join([*lines, r"\hline", r"\end{tabular}"])


def _csv(comparison: Comparison) -> str:
    """Return a line for each score, ours and published, with whom it beats."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    header = [
        "task",
        "metric",
        "protocol",
        "encoder",
        "origin",
        "value",
        "low",
        "high",
        "baseline",
        "best",
        "better_than",
        "note",
    ]
    writer.writerow(header)
    for column in comparison.columns:
        for encoder, metric in column.scores.items():
            best = encoder in column.best() and len(column.scores) > 1
            beaten = "; ".join(column.beaten_by(encoder, comparison.level))
            values = [metric.value, metric.low, metric.high, metric.baseline]
            place = [column.label, column.metric, column.protocol, encoder, "this toolkit"]
            writer.writerow([*place, *values, int(best), beaten, column.untested])
    for numbers in _published_rows(comparison).values():
        for number in numbers.values():
            place = [number.task, number.metric, number.protocol, number.encoder, number.table]
            writer.writerow([*place, number.value, "", "", "", "", "", number.suspect or number.differs])
    return stream.getvalue().rstrip("\n")

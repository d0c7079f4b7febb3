"""Decisions, audits, compression frontiers, domain gaps and reproductions as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from medsenteval.comparison.audit import CHECKS, Audit, Conclusion
from medsenteval.comparison.decision import Decision
from medsenteval.comparison.domain_gap import DomainGap, paired_gaps
from medsenteval.comparison.frontier import Frontier
from medsenteval.comparison.published.differences import Cell, Reproduction
from medsenteval.report.comparison_table import escape_cell, render_table
from medsenteval.report.score_texts import difference, number
from medsenteval.running.score_table import SYNTHETIC_WARNING
from medsenteval.statistics.verdicts import RankInterval
from medsenteval.support.grouping import grouped
from medsenteval.support.text_table import text_table

#: Styles that hold tables alone.
_BARE = ("csv", "latex")


def render_decisions(
    decisions: Sequence[Decision], ranks: Mapping[str, RankInterval], rope: float, level: float, style: str
) -> str:  # fmt: skip
    """Return one row for each pair and metric, the ranks below, and a sentence that says how to read them."""
    rows = []
    for found in decisions:
        seen = difference(found.interval.estimate, found.interval.low, found.interval.high, found.unit)
        smallest = "-" if found.smallest is None else number(found.smallest, found.unit)
        items = "-" if found.items is None else f"{found.items:,}"
        pair = f"{found.first} - {found.second}"
        rows.append([f"{found.task} {found.metric}", pair, *seen, found.verdict, smallest, items])
    header = ["Task", "Pair", "Difference", f"{100 * (1 - level):g} % interval", "Verdict", "Smallest shown", "Items to decide"]
    parts = [render_table(header, rows, [False, False, True, True, False, True, True], style)]
    if ranks:
        listed = [
            [name, f"{found.rank:.2f}", f"[{found.low:.2f}, {found.high:.2f}]", f"{100 * found.best:.0f} %"]
            for name, found in sorted(ranks.items(), key=lambda item: item[1].rank)
        ]
        header = ["Encoder", "Mean rank", "95 % interval", "Best in"]
        parts.append(render_table(header, listed, [False, True, True, True], style))
    if style not in _BARE:
        parts.append(
            f"Equivalent: surely less than {rope:g} points (correlations: {rope / 100:g}) apart.\n"
            "Smallest shown: the difference that these items would show in four of five experiments.\n"
            "Items to decide: how many would show, as often, the difference that was seen."
        )
    return "\n\n".join(parts)


_MARKS = {"holds": "+", "open": "o", "gone": "-", "": ""}
_WHAT_MARKS_SAY = (
    "+ still significant    o no longer, but a lead as large is within its interval    - gone: the interval excludes it"
)


def render_audit(audit: Audit, style: str = "text", every: bool = False) -> str:
    """Return a row for each encoder, then one for each conclusion that is gone under a check, or for every one of them."""
    rows = []
    led_by = grouped((each.winner, each) for each in audit.conclusions)
    for name, (size, first_share) in sorted(audit.encoders.items(), key=lambda each: -len(led_by.get(each[0], ()))):
        led = led_by.get(name, [])
        counts = [str(count) for count in (len(led), *_tally(led))]
        under = ", ".join(check for check in CHECKS if any(check in each.gone for each in led)) or "-"
        rows.append([name, str(size), f"{100 * first_share:.1f} %", *counts, under])
    header = ["Encoder", "Size", "First direction", "Leads", "Hold", "Open", "Gone", "Gone under"]
    parts = [render_table(header, rows, [False, *[True] * 6, False], style)]
    shown = [each for each in audit.conclusions if every or each.gone]
    details = [_conclusions(shown, style)] if shown else []
    if style in _BARE:
        return "\n\n".join(parts + details)
    hold, unsure, gone = _tally(audit.conclusions)
    parts.append(
        f"{hold} of {len(audit.conclusions)} significant leads hold under every check, {unsure} are open under some, "
        f"{gone} are gone under one or more.\n"
        f"First direction: share of the vectors' variance. Projected: to {audit.projected_to} principal components."
    )
    if details:
        parts += [*details, _WHAT_MARKS_SAY]
    parts += [f"Not audited: {reason}." for reason in audit.left_out]
    return "\n\n".join(parts)


def _tally(conclusions: Sequence[Conclusion]) -> tuple[int, int, int]:
    """Count the conclusions that hold under every check, are open under some, and are gone under one or more."""
    hold, gone = sum(each.holds for each in conclusions), sum(bool(each.gone) for each in conclusions)
    return hold, len(conclusions) - hold - gone, gone


def _conclusions(shown: list[Conclusion], style: str) -> str:
    applied = [check for check in CHECKS if any(each.outcomes.get(check) for each in shown)]
    rows = []
    for each in shown:
        cells = []
        for check in applied:
            outcome = each.outcomes.get(check, "")
            mark = outcome if style == "csv" else _MARKS[outcome]
            cells.append(f"{mark} {number(each.leads[check], each.unit, signed=True)}" if mark else "")
        lead = number(each.lead, each.unit, signed=True)
        rows.append([f"{each.task} {each.metric}", f"{each.winner} > {each.loser}", lead, *cells])
    header = ["Task", "Conclusion", "Lead", *(check.capitalize() for check in applied)]
    return render_table(header, rows, [False, False, *[True] * (len(applied) + 1)], style)


def render_frontier(found: Frontier, style: str = "text") -> str:
    """Return a row for each size of vectors, the largest first, and a sentence that says how small they can be."""
    rows = []
    for point in found.points:
        loss = difference(point.loss, point.low, point.high, found.unit)
        vectors = [str(point.dimension), point.precision, f"{point.size:,}"]
        rows.append([*vectors, number(point.score, found.unit), *loss, "*" if point.kept else ""])
    header = ["Dimensions", "Precision", "Bytes", found.metric, "Loss", "95 % interval", ""]
    table = render_table(header, rows, [True, False, True, True, True, True, False], style)
    if style in _BARE:
        return table
    title = escape_cell(f"{found.task}, {found.encoder} ({found.n:,} items)", style)
    # One point; hundredths for correlations and other fractions.
    margin = 1.0 if found.unit == "percent" else 0.01
    full, *_ = found.points
    least = min((point for point in found.points if point.high < margin), key=lambda point: (point.size, point.loss))
    sure = f"{least.dimension} dimensions in {least.precision}, {least.size:,} of {full.size:,} bytes"
    said = f"Smallest vectors that surely lose less than {margin:g}: {'none but the full ones' if least == full else sure}."
    return f"{title}\n\n{table}\n\n{said}\n* no smaller vectors score as well."


_EXPLANATION = (
    "Shares: the way from the best constant answer (0) to a perfect one (1). Gap: counterparts' mean share minus the "
    "biomedical task's; above 0 the encoder does better on general text."
)


def render_gaps(gaps: Sequence[DomainGap], style: str = "text") -> str:
    rows = []
    for gap in gaps:
        own = [number(gap.biomedical.score, gap.biomedical.unit), f"{gap.biomedical.value:.3f}"]
        general = [", ".join(f"{share.task} {share.value:.3f}" for share in gap.general), f"{gap.general_value:.3f}"]
        lost = difference(gap.gap, gap.low, gap.high, "fraction")
        rows.append([gap.encoder, gap.biomedical.task, *own, *general, *lost, "; ".join(gap.notes)])
    header = ["Encoder", "Task", "Score", "Share", "Counterparts' shares", "Mean", "Gap", "95 % interval", ""]
    table = render_table(header, rows, [False, False, True, True, False, True, True, True, False], style)
    return table if style in _BARE else f"{table}\n\n{_EXPLANATION}"


def render_paired_gaps(gaps: Sequence[DomainGap], general: str, in_domain: str, style: str = "text") -> str:
    """Return a line for each biomedical task: what the in-domain encoder closes of the general one's gap."""
    rows = []
    for first, second, closed in paired_gaps(gaps, general, in_domain):
        rows.append([first.biomedical.task, f"{first.gap:+.3f}", f"{second.gap:+.3f}", *difference(*closed, "fraction")])
    header = ["Task", f"Gap of {general}", f"Gap of {in_domain}", "Closed", "95 % interval"]
    return render_table(header, rows, [False, True, True, True, True], style)


def render_plan(plan: Reproduction) -> str:
    """Say for each row of the table which tasks can run, and once for each reason what is missing."""
    rows = []
    for encoder, cells in grouped((cell.number.encoder, cell) for cell in plan.cells).items():
        ready = list(dict.fromkeys(cell.task for cell in cells if not cell.missing))
        recipe = cells[0].specification or "no recipe"
        rows.append([encoder, recipe, f"{sum(not cell.missing for cell in cells)} of {len(cells)}", ", ".join(ready)])
    parts = [text_table(["Row", "Encoder", "Cells to run", "Tasks to run"], rows, [False, False, True, False])]
    parts.append(f"Probe: {plan.settings.probe}, {plan.settings.folds} folds, seed {plan.settings.seed}.")
    return "\n".join([*parts, *_missing(plan)])


def _missing(plan: Reproduction) -> list[str]:
    return [f"Missing: {reason}" for reason in dict.fromkeys(reason for cell in plan.cells for reason in cell.missing)]


def render_reproduction(outcome: Reproduction) -> str:
    """Return a line for each cell that has a number of ours, then what is missing."""
    done = [cell for cell in outcome.cells if cell.ours is not None]
    rows = [_row(cell) for cell in done]
    header = ["Row", "Task", "Setting", "Metric", "Published", "Ours", "Difference", "Allowance", ""]
    right = [False, False, False, False, True, True, True, True, False]
    parts = [text_table(header, rows, right), *_verdict(done, outcome.synthetic)] if rows else []
    parts.append(f"{len(done)} of {len(outcome.cells)} cells have a number of ours.")
    remarks = []
    for cell in done:
        suspect = cell.number.suspect and f"printed number suspect: {cell.number.suspect}"
        remarks += [(said, f"{cell.number.encoder} {cell.number.task}") for said in (cell.remark, suspect) if said]
    for remark, where in grouped(remarks).items():
        places = list(dict.fromkeys(where))
        parts.append(f"Differs, {', '.join(places[:4])}{', ...' if len(places) > 4 else ''}: {remark}.")
    parts += _missing(outcome)
    parts += [f"Failed: {failure}" for failure in outcome.failures]
    if outcome.synthetic:
        parts.append(SYNTHETIC_WARNING)
    return "\n".join(parts)


def _verdict(done: list[Cell], synthetic: bool) -> list[str]:
    judged = [cell.within for cell in done if cell.within is not None]
    if not judged:
        return ["No difference is judged: the data is synthetic."] if synthetic else []
    return [
        f"{sum(judged)} of {len(judged)} differences cannot be told from none with so few items, which does not make them "
        "equal. Allowance: half our 95 % interval, and the rounding."
    ]


def _row(cell: Cell) -> list[str]:
    digits = 2 if cell.number.unit == "percent" else 3
    assert cell.ours is not None
    assert cell.difference is not None
    tolerance = "" if cell.tolerance is None else f"±{cell.tolerance:.{digits}f}"
    verdicts = {None: "", True: f"cannot be told apart with {cell.n:,} items", False: "differs"}
    mark = "; ".join(filter(None, (verdicts[cell.within] + ("?" if cell.number.suspect else ""), cell.made)))
    values = [f"{cell.number.value:.{digits}f}", f"{cell.ours:.{digits}f}", f"{cell.difference:+.{digits}f}", tolerance]
    return [cell.number.encoder, cell.number.task, cell.number.setting, cell.number.metric, *values, mark]

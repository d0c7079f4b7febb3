"""A reproduction as text: the plan, or published and ours cell by cell."""

from __future__ import annotations

from medsenteval.comparison.published.differences import Cell, Reproduction
from medsenteval.running.score_table import SYNTHETIC_WARNING
from medsenteval.support.grouping import grouped
from medsenteval.support.text_table import text_table


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
        shown = ", ".join(dict.fromkeys(where[:4])) + (", ..." if len(where) > 4 else "")
        parts.append(f"Differs, {shown}: {remark}.")
    parts += _missing(outcome)
    parts += [f"Failed: {failure}" for failure in outcome.failures]
    if outcome.synthetic:
        parts.append(SYNTHETIC_WARNING)
    return "\n".join(parts)


def _verdict(done: list[Cell], synthetic: bool) -> list[str]:
    """Say of how many differences nothing can be said, and how wide the allowance behind that is."""
    judged = [cell for cell in done if cell.tolerance is not None]
    if not judged:
        return ["No difference is judged: the data is synthetic."] if synthetic else []
    widths = []
    for unit, digits, name in (("percent", 2, " points"), ("fraction", 3, "")):
        found = sorted(cell.tolerance or 0.0 for cell in judged if cell.number.unit == unit)
        if found:
            widths.append(f"±{found[0]:.{digits}f} to ±{found[-1]:.{digits}f}{name}")
    lost = sum(bool(cell.within) for cell in judged)
    return [
        f"{lost} of {len(judged)} differences cannot be told from none with so few items, which does not make them equal: "
        f"the allowance (half our 95 % interval, and the rounding) is {' and '.join(widths)}."
    ]


def _row(cell: Cell) -> list[str]:
    digits = {"percent": 2, "count": 0}.get(cell.number.unit, 3)
    assert cell.ours is not None
    assert cell.difference is not None
    tolerance = "" if cell.tolerance is None else f"±{cell.tolerance:.{digits}f}"
    verdicts = {None: "", True: f"cannot be told apart with {cell.n:,} items", False: "differs"}
    mark = "; ".join(filter(None, (verdicts[cell.within] + ("?" if cell.number.suspect else ""), cell.made)))
    values = [f"{cell.number.value:.{digits}f}", f"{cell.ours:.{digits}f}", f"{cell.difference:+.{digits}f}", tolerance]
    return [cell.number.encoder, cell.number.task, cell.number.setting, cell.number.metric, *values, mark]

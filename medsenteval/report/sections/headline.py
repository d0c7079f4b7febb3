"""What a page says first: the verdict in a sentence with its uncertainty, and the order that encoders stand in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from medsenteval.comparison.decision import Decision
from medsenteval.comparison.domain_gap import share_of_way
from medsenteval.comparison.significance import Column, Comparison
from medsenteval.statistics.verdicts import RankInterval

#: As many names stand in the sentence; more are counted.
_NAMED = 3


@dataclass(frozen=True)
class Headline:
    """The verdict as parts (text, whether it is an encoder's name), how it came about, and what a figure shows of it.

    ``order`` has the encoders by mean rank, or where there are no ranks by mean share of the way to a perfect score.
    ``ranks`` says of each encoder whether the best cannot be told from it; ``pair`` are the differences of the first to the
    second where there are only two.
    """

    parts: tuple[tuple[str, bool], ...]
    order: tuple[str, ...]
    ranks: tuple[tuple[str, RankInterval, bool], ...] = ()
    pair: tuple[Decision, ...] = ()

    def __str__(self) -> str:
        return "".join(text for text, _ in self.parts)


def share_of(column: Column, encoder: str) -> float | None:
    """Return the share of the way from the constant answer (0) to a perfect score (1); None without a score."""
    score = column.scores.get(encoder)
    return None if score is None else share_of_way(score.value, column.baseline, column.unit)


def headline(comparison: Comparison, decisions: Sequence[Decision], ranks: Mapping[str, RankInterval]) -> Headline:
    """Say which encoder is best and whether it can be told from the others."""
    columns = comparison.headline_columns()
    shares = {
        encoder: [share for column in columns if (share := share_of(column, encoder)) is not None]
        for encoder in comparison.encoders
    }
    means = {encoder: sum(values) / len(values) if values else 0.0 for encoder, values in shares.items()}
    order = sorted(comparison.encoders, key=lambda name: (ranks[name].rank if ranks else 0.0, -means[name]))
    if columns and all(column.synthetic for column in columns):
        return Headline((("Nothing is decided here: these are scores on synthetic sample data.", False),), tuple(order))
    if len(order) == 1:
        clear = sum(not column.scores[order[0]].mark for column in columns if order[0] in column.scores)
        tasks = "1 task" if len(columns) == 1 else f"{len(columns)} tasks"
        said = f" is clearly above the best constant answer on {clear} of {tasks}."
        return Headline(((order[0], True), (said, False)), tuple(order))
    shown = {(column.label, column.metric) for column in columns}
    if len(order) == 2:
        pair = [found.seen_from(order[0]) for found in decisions if (found.task, found.metric) in shown]
        if sum(each.verdict == "better" for each in pair) < sum(each.verdict == "worse" for each in pair):
            order.reverse()
            pair = [found.seen_from(order[0]) for found in pair]
        return Headline(tuple(_of_two(order[0], order[1], pair)), tuple(order), pair=tuple(pair))
    if not ranks:
        return Headline((("No encoder is called best: no task was tested for all of them.", False),), tuple(order))
    best = ranks[order[0]]
    rows = []
    for name, found in ((name, ranks[name]) for name in order):
        # Widened to hold the rank itself: resampled ranks crowd towards the middle.
        wide = replace(found, low=min(found.low, found.rank), high=max(found.high, found.rank))
        rows.append((name, wide, found.low <= best.high))
    return Headline(tuple(_of_many(rows)), tuple(order), tuple(rows))


def _of_two(first: str, second: str, pair: Sequence[Decision]) -> list[tuple[str, bool]]:
    def both(between: str, said: str) -> list[tuple[str, bool]]:
        return [(first, True), (between, False), (second, True), (said, False)]

    if not pair:
        return both(" and ", " could not be tested on the same items.")
    counts = {said: sum(each.verdict == said for each in pair) for said in ("better", "worse", "equivalent", "undecided")}
    n = len(pair)
    every = pair[0].task if n == 1 else "both tasks" if n == 2 else f"all {n} tasks"
    rest = [f"{counts[said]} {said}" for said in ("equivalent", "undecided") if counts[said]]
    if counts["better"] == n:
        parts = both(" beats ", f" on {every}")
    elif counts["better"]:
        rest = ([f"it loses {counts['worse']}"] if counts["worse"] else []) + rest
        parts = both(" beats ", f" on {counts['better']} of {n} tasks ({', '.join(rest)})")
    elif counts["equivalent"] == n:
        parts = both(" and ", f" are equivalent on {every}")
    else:
        where = every if n == 1 else f"any of {n} tasks"
        also = f" ({counts['equivalent']} equivalent)" if counts["equivalent"] else ""
        parts = both(" and ", f" cannot be told apart on {where}{also}")
    clearest = sorted(pair, key=lambda each: each.corrected)[: 2 if n == 2 else 1]
    shown = [each for each in pair if each in clearest]
    lead = ": " if n <= 2 else "; clearest on "
    return [*parts, (lead + ", ".join(f"{each.task} {each.text}" for each in shown) + ".", False)]


def _of_many(rows: Sequence[tuple[str, RankInterval, bool]]) -> list[tuple[str, bool]]:
    (first, best, _), *others = rows
    tied = [name for name, _, is_tied in others if is_tied]
    place = f", {best.rank:.1f} [{best.low:.1f}, {best.high:.1f}]"
    parts = [(first, True), (f" has the best mean rank{place}; ", False)]
    if not tied:
        return [*parts, ("every other encoder can be told from it.", False)]
    if len(tied) > _NAMED:
        return [*parts, (f"{len(tied)} others cannot be told apart from it.", False)]
    for place_in_list, name in enumerate(tied):
        parts += [(" and " if 0 < place_in_list == len(tied) - 1 else ", " if place_in_list else "", False), (name, True)]
    return [*parts, (" cannot be told apart from it.", False)]

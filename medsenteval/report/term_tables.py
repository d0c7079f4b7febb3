"""Plain-text tables of what was measured on term sets."""

from __future__ import annotations

from collections.abc import Sequence

from medsenteval.contracts import Result
from medsenteval.running.term_evaluation import EncoderSeparation
from medsenteval.support.text_table import text_table
from medsenteval.words.terms.annotation import SheetScore


def outcome_table(results: Sequence[Result]) -> str:
    """Return a line for each set and encoder, with the paper's counts of encoders beaten and not matched."""
    rows = []
    for result in results:
        acc, cv, auc = (result.metric(name) for name in ("acc", "cv_acc", "auc"))
        told = result.details
        rows.append(
            [
                _set_of(result), result.encoder, told["measure"], f"{auc.value:.3f}", f"{acc.value:.2f}",
                _counts(told["better"], told["worse"]), _counts(told["better_holm"], told["worse_holm"]), f"{cv.value:.2f}",
                f"{acc.baseline:.2f}", f"{told['n_common']:,}", f"{told['n_common'] / told['n_pairs']:.1%}",
            ]
        )  # fmt: skip
    header = ["Set", "Encoder", "Measure", "AUC", "Accuracy", "Bonf.", "Holm", "CV acc.", "Majority", "Pairs", "Known"]
    right = [False, False, False, True, True, False, False, True, True, True, True]
    return text_table(header, rows, right) + (
        "\nAccuracy at the best threshold on the set itself; CV: threshold from the other folds. Majority: the larger class of"
        "\nthe pairs that all encoders know. a/-b: significantly better than a, worse than b encoders (McNemar at 0.05)."
    )


def _set_of(result: Result) -> str:
    return result.task.removeprefix("terms-")


def _counts(better: int, worse: int) -> str:
    """The paper's superscript: better than a others, worse than b."""
    return "/".join([*([str(better)] if better else []), *([f"-{worse}"] if worse else [])])


def measure_table(results: Sequence[Result]) -> str:
    """Return a line for each set, encoder and measure."""
    rows = [
        [
            _set_of(result), result.encoder, measure, f"{found['auc']:.3f}", f"{found['acc']:.2f}",
            _counts(found["better"], found["worse"]), f"{found['cv_acc']:.2f}",
        ]
        for result in results
        for measure, found in result.details["measures"].items()
    ]  # fmt: skip
    header = ["Set", "Encoder", "Measure", "AUC", "Accuracy", "Bonf.", "CV acc."]
    return text_table(header, rows, [False, False, False, True, True, False, True]) + (
        "\na/-b: significantly better than a, worse than b of the encoder's other measures."
    )


def separation_table(rows: Sequence[EncoderSeparation], categories: Sequence[str]) -> str:
    """Return O and the mean similarities of each encoder and measure, as the paper's Tables 6 and D.1."""
    names = dict(zip(categories, "ABC", strict=True))
    columns = list(rows[0].separation.means)
    short = [" / ".join(names[part] for part in column.split(" / ")) for column in columns]
    table = [
        [
            row.encoder, row.measure, f"{row.separation.overlap:.2%}", *(f"{row.separation.means[c]:.3f}" for c in columns),
            " x ".join(f"{size:,}" for size in row.separation.sizes), f"{row.unknown:,}",
        ]
        for row in rows
    ]  # fmt: skip
    header = ["Encoder", "Measure", "Overlap O", *short, "Terms", "Unknown"]
    legend = "\n".join(f"{letter}: {name}" for name, letter in names.items())
    return text_table(header, table, [False, False, *[True] * (len(header) - 2)]) + (
        f"\n{legend}\nO: share of triples in which a term of A is at most as similar to one of B as to one of C; "
        "0 is best, 50 % chance."
    )


def sheet_table(scores: Sequence[SheetScore]) -> str:
    """Return a line for each set, like the paper's Table 3."""

    def shown(value: float | None) -> str:
        return "-" if value is None else f"{value:.2f}"

    rows = [
        [
            score.name, str(score.n), f"{score.no_majority / score.n:.0%}", shown(score.alpha), shown(score.accuracy),
            shown(score.recall), shown(score.precision),
        ]
        for score in scores
    ]  # fmt: skip
    header = ["Set", "Pairs", "No majority", "Alpha", "Accuracy", "Recall", "Precision"]
    return text_table(header, rows, [False, *[True] * 6]) + (
        "\nAutomatic labels against the annotators' majority; alpha is Krippendorff's (- where all answers are the same)."
    )


def strata_table(results: Sequence[Result]) -> str:
    """Return a line for each encoder and part of the queries: wordings, depths, numbers of names, frequencies."""
    rows = []
    for result in results:
        for trait, parts in result.details["strata"].items():
            for part, found in parts.items():
                (first, *limits), (fifth, *_), (mrr, *_) = (found[name] for name in ("acc@1", "acc@5", "mrr"))
                low, high = (100 * limit for limit in limits)
                cells = [f"{found['queries']:,}", f"{100 * first:.2f}", f"[{low:.2f}, {high:.2f}]", f"{100 * fifth:.2f}"]
                rows.append([result.encoder, trait, part, *cells, f"{mrr:.3f}"])
    header = ["Encoder", "Part by", "", "Queries", "acc@1", "95 % interval", "acc@5", "MRR"]
    return text_table(header, rows, [False, False, False, *[True] * 5]) + (
        "\nnames: how many names the concept has; depth: steps below the root; frequency: of the concept, as the table says."
    )

"""What commands print, word for word, as the files in fixtures/ show it; ``python -m tests.cli.test_outputs`` writes them anew.

Numbers are proven elsewhere; here nothing that a user reads changes unseen. Whoever changes an output reads the new file before
committing it.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Final

import click
import pytest
from click.testing import CliRunner

from medsenteval import registry
from medsenteval.cli.main import main
from medsenteval.datasets.locate import load_dataset, sample_root
from medsenteval.running.result_store import ResultStore
from medsenteval.settings import Settings
from tests.comparison.results_of import word_result
from tests.comparison.simulated import accuracy_result
from tests.conftest import REPOSITORY
from tests.report.made_up import analogy_result, many_results

FOLDER: Final = Path(__file__).parent / "fixtures"


def nothing() -> None:
    """Commands that read the sample need nothing else."""


def scores() -> None:
    store = ResultStore(Path("results"))
    for result in many_results(3, 11, n_items=60):
        if result.task in ("MedNLI", "RQE", "BIOSSES", "MR"):
            store.save(result)


def many() -> None:
    """Six encoders, the best of which are better than several that stand beside each other, on real and invented data."""
    for result in many_results(6, 10, n_items=150, seed=3):
        if result.task in ("RQE", "BIOSSES"):
            ResultStore(Path("results")).save(result)
            ResultStore(Path("synthetic")).save(replace(result, synthetic=True))


def gaps() -> None:
    gold = [0, 1] * 20
    for i, name in enumerate(("general", "medical")):
        for task, right in (("MedNLI", 25), ("SNLI", 35), ("RQE", 30), ("MRPC", 28)):
            answers = [g if j < right + i else 1 - g for j, g in enumerate(gold)]
            ResultStore(Path("results")).save(accuracy_result(task, name, gold, answers))


def words() -> None:
    for number, name in enumerate(("one", "two", "three", "four", "five", "six")):
        for task in ("Bio-SimLex", "MayoSRS", "Bio-SimVerb"):
            rows = [
                (f"{i}", f"w{i}", f"v{i}", float(i), float(i * i * (number + len(task)) % 23 + i * number)) for i in range(24)
            ]
            value = 0.1 + (number * (number + len(task)) % 11) / 12
            ResultStore(Path("results")).save(word_result(task, name, rows, unknown=["a b"] * number, value=value))
    Path("values.tsv").write_text("".join(f"{side}{i}\t{i * i}\n" for i in range(24) for side in "wv"), "utf-8")


def synthetic_words() -> None:
    words()
    for result in ResultStore(Path("results")).results():
        ResultStore(Path("synthetic")).save(replace(result, synthetic=True))


def ratings() -> None:
    rows = (f"w{i}\tv{i}\t{i % 7}\t{min(6, i % 7 + i % 2)}\t{max(0, i % 7 - i % 3)}\t{(5 * i + 3) % 7}\n" for i in range(24))
    Path("ratings.tsv").write_text("word1\tword2\tada\tbea\tcy\tdee\n" + "".join(rows), "utf-8")
    Path("values.tsv").write_text("".join(f"{side}{i}\t{i * i}\n" for i in range(24) for side in "wv"), "utf-8")


def notes() -> None:
    rows = [f'{i},"case {i}, {"calm" if i % 2 else "shock"} {"and more " * (i % 5)}",{i % 2}' for i in range(40)]
    for name, empty in (("ten", 10), ("more", 12)):
        Path(f"{name}.csv").write_text("\n".join(["id,note,label", *rows, *(f"{90 + i},,1" for i in range(empty))]), "utf-8")


def stored() -> None:
    """Results and vectors of a run on the sample."""
    command = f"run --quiet -t BIOSSES,MayoSRS {TWO}"
    CliRunner().invoke(main, command.split(), catch_exceptions=False)


def terms() -> None:
    command = f"terms build --quiet -o sets --obo {ONTOLOGY}"
    CliRunner().invoke(main, command.split(), catch_exceptions=False)


def categories() -> None:
    for name, kind in (("near", "renal"), ("close", "kidney"), ("distant", "worm")):
        Path(f"{name}.txt").write_text("".join(f"{kind} {word}\n" for word in ("cyst", "pain", "stone", "egg")), "utf-8")


def curves() -> None:
    gold = [0, 1] * 20
    for shots, right in ((1, 20), (4, 26), (16, 31)):
        answers = [g if i < right else 1 - g for i, g in enumerate(gold)]
        changes = {"protocol": f"split-shots-{shots}-draws-3", "n_train": 2 * shots}
        ResultStore(Path("results")).save(accuracy_result("RQE", "one", gold, answers, **changes))


def own_copy() -> None:
    """Data that does not say that it is synthetic, and a run on it."""
    shutil.copytree(sample_root() / "BIOSSES", "data/BIOSSES")
    CliRunner().invoke(main, f"run --quiet -t BIOSSES -d data {TWO}".split(), catch_exceptions=False)


def half_known() -> None:
    """Results of encoders that know few words of the task, which tables say."""
    own_copy()
    for result in ResultStore(Path("results")).results():
        ResultStore(Path("results")).save(replace(result, coverage={"tokens": 0.3}))


def uneven() -> None:
    """Two encoders of which one answered fewer items, a task that only one of them has, and a second seed."""
    gold = [0, 1] * 20
    store = ResultStore(Path("results"))
    for name, n, right in (("one", 40, 36), ("two", 30, 18)):
        answers = [g if i < right else 1 - g for i, g in enumerate(gold[:n])]
        store.save(accuracy_result("RQE", name, gold[:n], answers))
    store.save(accuracy_result("MedNLI", "two", gold, gold, notes=("a note",)))
    store.save(accuracy_result("RQE", "one", gold, gold, seed=2))


def packed() -> None:
    uneven()
    CliRunner().invoke(main, ["results", "pack", "results", "-o", "all.results.zip"], catch_exceptions=False)
    Path("other").mkdir()
    CliRunner().invoke(main, ["results", "pack", "results", "-t", "RQE", "-o", "other/all.results.zip"], catch_exceptions=False)


def exported() -> None:
    own_copy()
    CliRunner().invoke(main, ["data", "export", "all.zip", "-d", "data"], catch_exceptions=False)


def corpus() -> None:
    texts = list(dict.fromkeys(load_dataset(registry.task("BIOSSES"), sample_root(), Settings()).all_texts()))
    lines = ["an unrelated line", texts[0].upper(), texts[5], texts[0], texts[7].rpartition(" ")[0]]
    Path("corpus.txt").write_text("\n".join(lines), "utf-8")


def incomplete() -> None:
    """A small part of a data set, with a row that cannot be read, and a text with letters of another script."""
    corpus()
    Path("data/CitationSA").mkdir(parents=True)
    rows = ["neutral\tit was β-found [C]", "positive\tit was shown [C]", "odd\tit was not [C]", "positive\tIt was shown [C]"]
    Path("data/CitationSA/train.txt").write_text("\n".join(rows) + "\n", "utf-8")
    with open("corpus.txt", "a", encoding="utf-8") as stream:
        stream.write("\nit was shown c\n")


def analogies() -> None:
    for name, value in (("one", 0.5), ("two", 0.25)):
        result = analogy_result(name, {"treats": value, "causes": 1 - value})
        ResultStore(Path("results")).save(result)


def failing() -> None:
    """One data set that cannot be read, one that is absent, and one that is there."""
    shutil.copytree(sample_root() / "BIOSSES", "data/BIOSSES")
    Path("data/RQE").mkdir()
    Path("data/RQE/RQE_Train_8588_AMIA2016.xml").write_text("<r>", "utf-8")


def stored_in_part() -> None:
    failing()
    CliRunner().invoke(main, f"run --quiet -t BIOSSES,RQE -d data {TWO}".split(), catch_exceptions=False)


def facts() -> None:
    rows = [(f"drug {i}", "treats", f"disease {i}") for i in range(6)]
    rows += [(f"gene {i}", "causes", f"disease {i // 2}") for i in range(8)]
    Path("facts.tsv").write_text("subject\trelation\tobject\n" + "".join("\t".join(row) + "\n" for row in rows), "utf-8")
    counts = {
        term: number for number, term in enumerate(dict.fromkeys(term for first, _, last in rows for term in (first, last)))
    }
    Path("counts.tsv").write_text("".join(f"{term}\t{count}\n" for term, count in counts.items()), "utf-8")


def zipped() -> None:
    """What was downloaded, still packed, in the place of a data set."""
    Path("data/RQE").mkdir(parents=True)
    shutil.make_archive("data/RQE/downloaded", "zip", sample_root() / "RQE")


ONTOLOGY: Final = f"{REPOSITORY}/data/sample/HPO/hp.obo"
SECOND: Final = "encoder-01-of-some-family"
SMALL: Final = "lexical,dimension=16"
TWO: Final = "-e lexical,dimension=64 -e lexical,dimension=16,name=small"
LISTS: Final = "--list near.txt --list close.txt --list distant.txt"
#: What must be there, the command, and how wide the terminal is; nothing where output goes to a file.
OUTPUTS: Final[dict[str, tuple[Callable[[], None], str, str]]] = {
    "tasks": (nothing, "tasks", "90"),
    "task": (nothing, "tasks BioASQ", ""),
    "encoders": (nothing, "encoders", "90"),
    "data-where": (nothing, "data where RQE", ""),
    "data-where-shrinking": (nothing, "data where VaccineSA", ""),
    "data-status": (nothing, "data status RQE BIOSSES STS12 BC2GM UMLS", "90"),
    "data-status-narrow": (nothing, "data status RQE BC2GM UMLS", "50"),
    "data-status-absent": (own_copy, "data status RQE BIOSSES -d data", ""),
    "data-show-pairs": (nothing, "data show RQE --examples 2", ""),
    "data-show-words": (nothing, "data show MayoSRS", ""),
    "data-show-entities": (nothing, "data show BC2GM --examples 1", ""),
    "data-show-several": (nothing, "data show RQE BioASQ --examples 0", ""),
    "data-describe-ten-rejected": (notes, "data describe ten.csv,id= --examples 2", ""),
    "data-describe-more-rejected": (notes, "data describe more.csv", ""),
    "data-quality": (nothing, "data quality RQE BioASQ", ""),
    "run": (nothing, f"run --quiet -t BIOSSES,MayoSRS,BioASQ {TWO} --quality", ""),
    "run-plan": (nothing, "run -t sentence --plan", ""),
    "compare": (scores, "compare results --resamples 200", ""),
    "compare-markdown": (scores, "compare results --resamples 200 --format markdown --notes --caption Scores --transpose", ""),
    "compare-latex": (scores, "compare results --resamples 200 --format latex --notes --digits 1", ""),
    "compare-csv": (scores, "compare results --resamples 200 --format csv --differences", ""),
    "compare-published": (scores, f"compare results --resamples 200 --against {SECOND} --rope 1 --with medsenteval-3", ""),
    "compare-general": (gaps, "compare results --resamples 200 --general --intervals bca", ""),
    "compare-common-pairs": (words, "compare results --resamples 200 --common-pairs", ""),
    "compare-many": (many, "compare results --resamples 999", ""),
    "compare-many-latex": (many, "compare results --resamples 999 --format latex --correction none --level 0.01", ""),
    "compare-many-markdown": (many, f"compare results --resamples 999 --format markdown --against {SECOND}", ""),
    "compare-many-rope": (many, "compare results --resamples 999 --rope 5 --differences --correction bonferroni", ""),
    "compare-synthetic": (many, "compare synthetic --resamples 99 --with medsenteval-3", ""),
    "compare-synthetic-markdown": (many, "compare synthetic --resamples 99 --format markdown --caption Invented", ""),
    "compare-scores-csv": (uneven, "compare results --resamples 200 --format csv --with medsenteval-3 -t RQE,MedNLI", ""),
    "compare-uneven": (uneven, "compare results --resamples 200", ""),
    "compare-metrics": (scores, "compare results --resamples 200 --metrics pearson,acc --transpose --digits 0", ""),
    "compare-rope-markdown": (scores, "compare results --resamples 200 --rope 30 --format markdown", ""),
    "gap-markdown": (gaps, "gap results --pair general,medical --format markdown", ""),
    "gap-csv": (gaps, "gap results --format csv", ""),
    "curve-markdown": (curves, "curve results --format markdown", ""),
    "audit-latex": (own_copy, "audit results --quiet -d data --format latex", ""),
    "correlate-spearman": (words, "correlate results -x Bio-SimLex -y MayoSRS --kind spearman --level 0.5", ""),
    "subsets-limits": (words, "subsets results --by values.tsv --limits 100,400 -t MayoSRS --metric kendall", ""),
    "ratings-all": (ratings, "ratings ratings.tsv --raters ada,bea,cy --scale 0,6,0,1 --limits 100 --by values.tsv", ""),
    "pack": (uneven, "results pack results -o all.results.zip", ""),
    "verify": (packed, "results verify all.results.zip", ""),
    "add": (packed, "results add all.results.zip there", ""),
    "figures": (scores, "figures results --format svg --width column", ""),
    "report": (scores, "report results --resamples 200 -o page.html", ""),
    "report-restricted": (scores, "report results --resamples 200 -t RQE,MedNLI --include-restricted -o page.html", ""),
    "export-mteb": (uneven, "export mteb results -o out", ""),
    "encoder": (nothing, "encoders biobert", ""),
    "encoder-by-hand": (nothing, "encoders infersent-1", ""),
    "encoder-kind": (nothing, "encoders vectors", ""),
    "task-terms": (nothing, "tasks SNOMED-CT", ""),
    "data-overlap": (corpus, "data overlap corpus.txt -t BIOSSES,BioASQ --examples 2", ""),
    "data-export": (own_copy, "data export all.zip BIOSSES RQE -d data", ""),
    "data-import": (exported, "data import all.zip -d elsewhere", ""),
    "data-prepare": (own_copy, "data prepare BIOSSES RQE --from data/BIOSSES -d elsewhere", ""),
    "run-failing": (failing, "run -t BIOSSES,RQE,MedNLI -d data -e lexical,dimension=16", ""),
    "run-failing-quiet": (failing, "run -t BIOSSES,RQE,MedNLI -d data -e lexical,dimension=16 --quiet --no-cache", ""),
    "run-seeds": (nothing, "run --quiet -t TREC -e lexical,dimension=16 --seeds 1,2,1 --folds 3 --limit 60", ""),
    "run-parts": (nothing, "run --quiet -t TREC -e lexical,dimension=16 --shots 2,4 --folds 3 --limit 60", ""),
    "run-plan-stored": (stored_in_part, f"run -t BIOSSES,RQE,MedNLI -d data {TWO} --plan", ""),
    "cache-pruned": (stored, "cache prune --encoder small", ""),
    "terms-sheet": (terms, "terms sheet sets -s FSN_SYN,hard --pairs 2 -o sheet.xlsx", ""),
    "gap-drawn": (gaps, "gap results --figure gap.svg", ""),
    "curve-drawn": (curves, "curve results --figure curve.svg", ""),
    "frontier-drawn": (own_copy, "frontier results -d data --dimensions 8 --figure frontier.svg", ""),
    "subsets-drawn": (words, "subsets results --by values.tsv -t MayoSRS --figure subsets.svg", ""),
    "compare-written": (scores, "compare results --resamples 100 -o table.txt", ""),
    "pack-elsewhere": (uneven, "results pack results -o new/folder/all.results.zip", ""),
    "add-elsewhere": (packed, "results add all.results.zip new/folder", ""),
    "add-again": (packed, "results add all.results.zip results", ""),
    "figures-elsewhere": (scores, "figures results -o new/figures -t RQE", ""),
    "report-elsewhere": (scores, "report results --resamples 100 -t RQE -o new/folder/page.html", ""),
    "analogies-figures": (analogies, "analogies figures results -o new/figures --format svg", ""),
    "data-status-incomplete": (incomplete, "data status CitationSA -d data", ""),
    "data-status-json": (incomplete, "data status CitationSA BIOSSES -d data --json", ""),
    "data-show-incomplete": (incomplete, "data show CitationSA -d data", ""),
    "data-show-all": (incomplete, "data show -d data --examples 0", ""),
    "data-overlap-incomplete": (incomplete, "data overlap corpus.txt -t CitationSA,RQE -d data", ""),
    "audit-announced": (own_copy, "audit results -d data", ""),
    "reproduce-announced": (nothing, f"reproduce medsenteval-3 -t BIOSSES --row GloVe_840B -e GloVe_840B={SMALL}", ""),
    "terms-build-announced": (nothing, f"terms build -o sets --obo {ONTOLOGY}", ""),
    "terms-evaluate-announced": (terms, f"terms evaluate sets -e {SMALL} --limit 20 -s FSN_SYN,hard,random", ""),
    "gap": (gaps, "gap results --pair general,medical", ""),
    "correlate": (words, "correlate results -x Bio-SimLex,MayoSRS -y Bio-SimVerb --correct holm", ""),
    "correlate-published": (nothing, "correlate --published biosim-5", ""),
    "correlate-synthetic": (synthetic_words, "correlate synthetic -x Bio-SimLex -y Bio-SimLex.pearson", ""),
    "subsets": (words, "subsets results --by values.tsv", ""),
    "ratings": (ratings, "ratings ratings.tsv --drop-outliers --by values.tsv -o scores.tsv", ""),
    "published-csv": (nothing, "published --csv -t RQE --encoder BioBERT", ""),
    "published": (nothing, "published", ""),
    "published-task": (nothing, "published -t RQE --encoder BERT", ""),
    "published-settings": (nothing, "published --table medisim-5 --encoder GloVe", ""),
    "published-suspect": (nothing, "published --table medsenteval-3 --suspect", ""),
    "reproduce-plan-of-one": (nothing, "reproduce medsenteval-3 --dry-run -t RQE --row GloVe_840B", ""),
    "reproduce-plan": (nothing, "reproduce medsenteval-3 --dry-run -t RQE,BIOSSES", ""),
    "reproduce": (
        nothing, "reproduce medsenteval-3 --quiet -t BIOSSES --row GloVe_840B -e GloVe_840B=lexical,dimension=64", ""
    ),
    "curve": (curves, "curve results", ""),
    "audit": (own_copy, "audit results --quiet --all -d data", ""),
    "frontier": (stored, "frontier results", ""),
    "frontier-chosen": (own_copy, "frontier results -d data --dimensions 4,8 --format markdown", ""),
    "frontier-csv": (own_copy, "frontier results -d data --dimensions 8 --format csv", ""),
    "frontier-absent": (own_copy, "frontier results -d results", ""),
    "cache": (stored, "cache info", ""),
    "cache-verified": (stored, "cache verify", ""),
    "terms-build": (nothing, f"terms build --quiet -o sets --obo {ONTOLOGY}", ""),
    "terms-evaluate": (terms, f"terms evaluate sets {TWO} --quiet --limit 40 -s random", ""),
    "terms-evaluate-all": (
        terms, "terms evaluate sets -e lexical,dimension=64 -s hard,levenshtein --all-measures --quiet --limit 40", ""
    ),
    "terms-link": (nothing, f"terms link -e lexical,dimension=64 --obo {ONTOLOGY} --limit 40", ""),
    "terms-separate": (categories, f"terms separate {TWO} {LISTS} --all-measures", ""),
    "analogies-errors": (nothing, "analogies errors -e lexical,dimension=64", ""),
    "analogies-generate": (facts, "analogies generate --table facts.tsv --one-to-one 4 --pairs 4 -o out", ""),
    "analogies-generate-rare": (
        facts,
        "analogies generate --table facts.tsv --frequencies counts.tsv --frequency-floor 2 --one-to-one 3 --pairs 3 -o out",
        "",
    ),
    "ratings-agreeing": (ratings, "ratings ratings.tsv --outliers 99", ""),
    "frontier-cautious": (half_known, "frontier results -d data --dimensions 8", ""),
    "frontier-cautious-csv": (half_known, "frontier results -d data --dimensions 8 --format csv", ""),
    "audit-cautious": (half_known, "audit results --quiet -d data", ""),
    "audit-cautious-csv": (half_known, "audit results --quiet -d data --format csv", ""),
    "reproduce-tables": (nothing, "reproduce", ""),
    "published-none": (nothing, "published -t nothing", ""),
    "data-status-packed": (zipped, "data status RQE -d data", ""),
    "add-another": (packed, "results add all.results.zip other", ""),
    "refused-option": (nothing, "analogies errors -e lexical --option setting=all-info --option setting=single-answer", ""),
    "refused-against": (scores, "compare results --resamples 99 --against nobody", ""),
    "refused-columns": (nothing, "correlate --published biosim-9", ""),
    "refused-curves": (nothing, "run --train-fraction 0.5 --shots 1", ""),
    "refused-limits": (words, "subsets results --by values.tsv --limits 100,many", ""),
    "refused-pack": (scores, "results pack results -o all.zip", ""),
    "refused-pair": (gaps, "gap results --pair general", ""),
    "refused-relation": (facts, "analogies generate --table facts.tsv --relation treats -o out", ""),
    "refused-rope": (many, "compare synthetic --resamples 99 --rope 1", ""),
    "refused-row": (nothing, "reproduce medsenteval-3 --dry-run -t RQE --row nobody", ""),
    "refused-scale": (ratings, "ratings ratings.tsv --scale 0,6", ""),
    "refused-sets": (terms, "terms evaluate sets -e lexical -s hard,nothing", ""),
    "refused-sources": (nothing, "terms build -o out", ""),
    "refused-two-sources": (nothing, f"terms link -e lexical --obo {ONTOLOGY} --umls there", ""),
    "refused-stand-in": (nothing, "reproduce medsenteval-3 --dry-run -e GloVe_840B", ""),
    "refused-task": (nothing, "analogies errors -e lexical -t RQE", ""),
    "refused-without-results": (nothing, "analogies figures results", ""),
    "refused-without-words": (words, "subsets results --by values.tsv -t MEN", ""),
}  # fmt: skip


#: Files that a command writes, shown below what it prints.
WRITTEN: Final = {
    "ratings": "scores.tsv",
    "export-mteb": "out/**/*.json",
    "analogies-generate": "out/BMASS/*",
    "terms-sheet": "sheet*",
    "terms-build": "sets/FSN_SYN-easy-*",
    "data-prepare": "elsewhere/**/*",
}


def said(name: str) -> str:
    """Run a command in this folder and return what it prints and what the files hold that it is to write."""
    _, command, columns = OUTPUTS[name]
    outcome = CliRunner(env={"COLUMNS": columns or None}).invoke(main, command.split(), catch_exceptions=False)
    parts = [f"$ medsenteval {command}\n{outcome.stdout}"]
    parts += [f"--- to the terminal, not to a file:\n{outcome.stderr}"] if outcome.stderr else []
    parts += [f"--- exit code {outcome.exit_code}\n"] if outcome.exit_code else []
    if name in WRITTEN:
        written = [path for path in sorted(Path().glob(WRITTEN[name])) if path.is_file()]
        parts += [f"--- {path}\n" + ("" if path.suffix in (".docx", ".xlsx") else path.read_text("utf-8")) for path in written]
    whole = "".join(parts).replace(str(REPOSITORY), "REPOSITORY")
    # Where these lines break depends on how long the path of the clone is.
    whole = re.sub(r"(?m)^Data: in(?:.+\n)+", lambda found: " ".join(found[0].split()) + "\n", whole)
    whole = re.sub(r"[\d,]{4,} bytes([;)])", r"# bytes\1", whole)
    whole = re.sub(r"done in [\d.]+ s", "done in # s", re.sub(r"\b[0-9a-f]{12}\b", "#" * 12, whole))
    return whole.replace(os.environ["MEDSENTEVAL_CACHE"], "CACHE")


def options(group: click.Group, before: str = "") -> Iterator[str]:
    """Say of every argument and option of every command what it takes, and what it is where it is not given."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from options(command, f"{before}{name} ")
        elif command is not None:
            yield f"{before}{name}\n"
            for parameter in command.params:
                kind, default = parameter.type, parameter.default
                takes = "flag" if getattr(parameter, "is_flag", False) else kind.name
                takes += " that exists" * getattr(kind, "exists", False)
                for limit in ("min", "max", "choices"):
                    if (value := getattr(kind, limit, None)) is not None:
                        takes += f" {limit} {value}"
                takes += ", several" * (parameter.multiple or parameter.nargs < 0) + ", required" * parameter.required
                given = isinstance(default, (str, int, float, Path)) and default is not False
                yield f"    {' '.join(parameter.opts)}: {takes}" + (f", else {str(default)!r}\n" if given else "\n")


def test_every_option_takes_what_its_file_shows() -> None:
    assert "".join(options(main)) == (FOLDER / "options.txt").read_text("utf-8")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Callable[[], None]], Path]:
    """Make what a command needs once, for all commands that need it: a folder, and a cache in a folder beside it."""

    @cache
    def folder_of(make: Callable[[], None]) -> Path:
        place = tmp_path_factory.mktemp(make.__name__)
        (place / "folder").mkdir()
        (place / "cache").mkdir(0o700)
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(place / "folder")
            patch.setenv("MEDSENTEVAL_CACHE", str(place / "cache"))
            make()
        return place

    return folder_of


@pytest.mark.parametrize("name", OUTPUTS)
def test_a_command_prints_what_its_file_shows(
    name: str, made: Callable[[Callable[[], None]], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = made(OUTPUTS[name][0])
    shutil.copytree(place / "folder", tmp_path / "folder")
    shutil.copytree(place / "cache", os.environ["MEDSENTEVAL_CACHE"], dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path / "folder")
    assert said(name) == (FOLDER / f"{name}.txt").read_text("utf-8")


if __name__ == "__main__":
    from tempfile import TemporaryDirectory

    (FOLDER / "options.txt").write_text("".join(options(main)), "utf-8")
    for name in sys.argv[1:] or OUTPUTS:
        with TemporaryDirectory() as folder:
            os.environ["MEDSENTEVAL_CACHE"] = f"{folder}/cache"
            os.chdir(folder)
            OUTPUTS[name][0]()
            (FOLDER / f"{name}.txt").write_text(said(name), "utf-8")

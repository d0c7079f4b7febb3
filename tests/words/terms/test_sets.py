"""Building the 20 sets from the invented release: files, notice, statistics, going on after an interruption."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

pytest.importorskip("numba")
pytest.importorskip("rapidfuzz")

from rapidfuzz.distance import Levenshtein

from medsenteval.cli.main import main
from medsenteval.errors import DataError, DataMissingError
from medsenteval.words.ontologies.obo import read_obo
from medsenteval.words.terms import sets as sets_module
from medsenteval.words.terms.negatives import levenshtein_negatives
from medsenteval.words.terms.positives import Positives, positives_from_obo, split_by_distance
from medsenteval.words.terms.sets import SetName, build_sets, read_set, read_sets, set_names, source_of, statistics_of
from tests.words.terms.release import write_release


def families(n: int = 12) -> Positives:
    """Enough invented names for every kind, so that nobody stays without a partner."""
    from benchmarks.morphemes import invented_names

    positives = Positives("invented names")
    names = invented_names(12 * n, seed=1)
    for i in range(0, 4 * n, 2):
        positives.add_names([names[i], f"{names[i]} s", names[i + 1]])
    rest = names[4 * n :]
    kinds = ("same_as", "replaced_by", "possibly_equivalent_to")
    found = [(kinds[i % 3], rest[i], rest[i + 1]) for i in range(0, len(rest) - 1, 2)]
    found += [(kinds[i % 3], rest[i], f"{rest[i]}al") for i in range(0, len(rest), 3)]
    found += [(kinds[i % 3], rest[i], f"{rest[i]}ic") for i in range(1, len(rest), 5)]
    positives.add_substitutions(found)
    return positives


def build(positives: Positives, folder: Path, **options: Any) -> dict[str, object]:
    return build_sets(positives, folder, notice="A notice.", **options)


@pytest.mark.parametrize("legacy", [False, True])
def test_twenty_sets_hold_what_they_promise(tmp_path: Path, legacy: bool) -> None:
    positives = families()
    statistics = build(positives, tmp_path, legacy=legacy)
    found = read_sets(tmp_path)
    assert [each.name for each in found] == set_names()
    assert len(found) == 20
    split = split_by_distance(positives)
    similar = {pair for pairs in split.values() for pair in pairs}
    for each in found:
        own = split[each.name.kind, each.name.difficulty]
        assert sorted(each.of(similar=True)) == sorted(own)
        negatives = each.of(similar=False)
        assert sorted(first for first, _ in negatives) == sorted(first for first, _ in own)
        assert len({frozenset(pair) for pair in negatives}) == len(negatives)
        assert not any((a, b) in similar or (b, a) in similar for a, b in negatives)
        for first, second in own:
            assert (Levenshtein.distance(first.lower(), second.lower()) <= 5) == (each.name.difficulty == "easy")
    rows = {(row["kind"], row["difficulty"]): row for row in statistics["sets"]}  # type: ignore[attr-defined]
    both = rows["FSN_SYN", "all"]
    assert both["positive"]["n"] == rows["FSN_SYN", "easy"]["positive"]["n"] + rows["FSN_SYN", "hard"]["positive"]["n"]
    assert both["levenshtein"]["mean"] < both["random"]["mean"]
    assert statistics["unpaired"] == {}
    notice = (tmp_path / "NOTICE.txt").read_text("utf-8")
    assert "A notice." in notice
    assert "invented names" in notice
    assert source_of(tmp_path) == "invented names"
    header = (tmp_path / "FSN_SYN_easy_distance5.tsv").read_text("utf-8").splitlines()[0]
    assert header == "pref\talt"


def test_an_interrupted_build_goes_on_and_ends_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    positives = families()
    build(positives, tmp_path / "new" / "whole")
    calls = []

    def stop_later(*arguments: Any, **options: Any) -> Any:
        calls.append(arguments)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return levenshtein_negatives(*arguments, **options)

    monkeypatch.setattr(sets_module, "levenshtein_negatives", stop_later)
    with pytest.raises(KeyboardInterrupt):
        build(positives, tmp_path / "parts")
    again: list[str] = []
    build_sets(positives, tmp_path / "parts", notice="A notice.", announce=again.append)
    assert sum("finished before" in line for line in again) == 2
    for name in set_names():
        assert (tmp_path / "parts" / name.file).read_bytes() == (tmp_path / "new" / "whole" / name.file).read_bytes()


def test_two_builds_do_not_mix(tmp_path: Path) -> None:
    build(families(), tmp_path)
    with pytest.raises(DataError, match="another build"):
        build(families(), tmp_path, legacy=True)
    (tmp_path / "build.json").unlink()
    with pytest.raises(DataError, match="unknown origin"):
        build(families(), tmp_path)


def test_broken_and_missing_sets(tmp_path: Path) -> None:
    with pytest.raises(DataMissingError, match="medsenteval terms build"):
        read_sets(tmp_path)
    name = SetName("same_as", "easy", "random")
    assert read_set(tmp_path, name) is None
    (tmp_path / name.file).write_text("a\tb\t1\na\tc\n", "utf-8")
    with pytest.raises(DataError, match=r"simple\.txt:2: expected term, term"):
        read_set(tmp_path, name)
    assert source_of(tmp_path) == ""


def test_the_command_builds_snomed_sets_with_a_notice(tmp_path: Path) -> None:
    release = write_release(tmp_path / "snomed")
    english = next(release.rglob("sct2_Description_Full-en_*.txt"))
    (english.parent / english.name.replace("-en_", "-sv_")).write_bytes(english.read_bytes())
    out = tmp_path / "out"
    build_them = ["terms", "build", "--snomed", str(release), "-o", str(out)]
    assert "no Full file of descriptions in language 'de'" in CliRunner().invoke(main, [*build_them, "--language", "de"]).output
    run = CliRunner().invoke(main, build_them)
    assert run.exit_code == 0, run.output
    assert "do not pass these files on" in run.output.replace("\n", " ")
    assert "concept 6" in (out / "rejected.txt").read_text("utf-8")
    stored = json.loads((out / "statistics.json").read_text("utf-8"))
    assert stored["unpaired"]["same_as-hard-levenshtein"] == 1  # one pair alone has nobody to be paired with
    assert statistics_of(out)["terms"] == stored["terms"]


def test_the_command_builds_from_obo_and_umls_and_refuses_nonsense(tmp_path: Path) -> None:
    obo = tmp_path / "toy.obo"
    terms = "".join(
        f'[Term]\nid: T:{i}\nname: disease of organ {i}\nsynonym: "organ{i} sickness" EXACT []\n\n' for i in range(30)
    )
    obo.write_text(terms, "utf-8")
    run = CliRunner().invoke(main, ["terms", "build", "--obo", str(obo), "-o", str(tmp_path / "a"), "--quiet"])
    assert run.exit_code == 0, run.output
    assert "its licence applies" in run.output
    assert len(read_sets(tmp_path / "a")) == 4
    umls = tmp_path / "MRCONSO.RRF"
    umls.write_text(
        "".join(
            f"C{i}|ENG|{ts}|L|PF|S|Y|A||||MSH|PT|D|{text}|0|N||\n"
            for i in range(30)
            for ts, text in (("P", f"disease {i}"), ("S", f"morbus numero {i} alius"))
        ),
        "utf-8",
    )
    run = CliRunner().invoke(main, ["terms", "build", "--umls", str(umls), "--sources", "MSH", "-o", str(tmp_path / "b")])
    assert run.exit_code == 0, run.output
    assert "UMLS content" in run.output
    run = CliRunner().invoke(main, ["terms", "build", "-o", str(tmp_path / "c")])
    assert run.exit_code == 2
    assert "name one source" in run.output


@pytest.mark.realdata
def test_the_human_phenotype_ontology_gives_all_five_kinds(realdata: Path) -> None:
    positives = positives_from_obo(read_obo(realdata / "hpo" / "hp.obo"))
    split = split_by_distance(positives)
    assert all(split.values())
    assert len(positives.pairs["same_as"]) > 200
    assert ("Multicystic kidney dysplasia", "Multicystic kidneys") in split["FSN_SYN", "hard"]
    assert not any(first.lower().startswith("obsolete") for first, _ in positives.pairs["replaced_by"])

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
from medsenteval.contracts import RejectedRow
from medsenteval.errors import DataError, DataMissingError
from medsenteval.words.ontologies.obo import read_obo
from medsenteval.words.terms import sets as sets_module
from medsenteval.words.terms.negatives import levenshtein_negatives
from medsenteval.words.terms.positives import Positives, positives_from_obo, split_by_distance
from medsenteval.words.terms.sets import (
    SetName,
    build_sets,
    is_synthetic,
    read_set,
    read_sets,
    set_names,
    source_of,
    statistics_of,
)
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


def test_statistics_worked_out_by_hand(tmp_path: Path) -> None:
    def write(kind: str, difficulty: str, strategy: str, rows: list[tuple[str, str, int]]) -> None:
        name = SetName(kind, difficulty, strategy)
        (tmp_path / name.file).write_text("".join(f"{a}\t{b}\t{label}\n" for a, b, label in rows), "utf-8")

    easy = [("Heart", "hearts", 1), ("skin", "kin", 1)]
    write("same_as", "easy", "levenshtein", [*easy, ("Heart", "kin", 0)])
    write("same_as", "easy", "random", [*easy, ("skin", "hearts", 0), ("heart x", "kin", 0)])
    write("same_as", "hard", "random", [("a b", "cdefghij", 1)])
    found = statistics_of(tmp_path)
    assert [(row["kind"], row["difficulty"]) for row in found["sets"]] == [
        ("same_as", "all"), ("same_as", "easy"), ("same_as", "hard"),
    ]  # fmt: skip
    both, first, second = found["sets"]
    assert first["positive"] == {"n": 2, "mean": 1.0, "median": 1.0, "min": 1, "max": 1}
    assert first["levenshtein"] == {"n": 1, "mean": 5.0, "median": 5, "min": 5, "max": 5}
    assert first["random"] == {"n": 2, "mean": 6.5, "median": 6.5, "min": 6, "max": 7}
    assert second == {
        "kind": "same_as",
        "difficulty": "hard",
        "positive": {"n": 1, "mean": 8.0, "median": 8, "min": 8, "max": 8},
    }
    assert both["positive"] == {"n": 3, "mean": pytest.approx(10 / 3), "median": 1, "min": 1, "max": 8}
    assert both["random"] == first["random"]
    # Heart, hearts, skin, kin, heart x, a b, cdefghij.
    assert found["terms"] == 7
    assert found["multiword_terms"] == pytest.approx(2 / 7)


def test_negatives_of_earlier_kinds_are_not_made_again() -> None:
    """SYN_SYN holds all of FSN_SYN and may share its negatives; the reference code resets its list one set too late."""
    pairs = {(kind, level): [(kind, level)] for kind in ("same_as", "FSN_SYN", "SYN_SYN") for level in ("easy", "hard")}

    def avoided(kind: str, level: str, legacy: bool) -> list[tuple[str, str]]:
        earlier = dict(list(pairs.items())[: list(pairs).index((kind, level))])
        return [pair for group in sets_module._to_avoid(earlier, kind, level, legacy) for pair in group]

    same = [("same_as", "easy"), ("same_as", "hard")]
    for legacy in (False, True):
        assert avoided("same_as", "hard", legacy) == same[:1]
        assert avoided("FSN_SYN", "easy", legacy) == same
        assert avoided("FSN_SYN", "hard", legacy) == [*same, ("FSN_SYN", "easy")]
        assert avoided("SYN_SYN", "hard", legacy) == [*same, ("SYN_SYN", "easy")]
    assert avoided("SYN_SYN", "easy", False) == same
    assert avoided("SYN_SYN", "easy", True) == [*same, ("FSN_SYN", "easy"), ("FSN_SYN", "hard")]


def test_what_a_build_says_of_itself(tmp_path: Path) -> None:
    positives = Positives("a list", rights=("Rights.",))
    positives.add_names(["alpha beta", "gamma delta", "epsilon zeta"])
    positives.rejected.append(RejectedRow("file", None, "item", "why"))
    told: list[str] = []
    found = build(positives, tmp_path / "new" / "out", legacy=True, announce=told.append)
    assert "FSN_SYN-hard-levenshtein: 2 similar, 0 dissimilar, 2 without a partner" in told
    assert "FSN_SYN-easy-levenshtein: no similar pair of this kind" in told
    assert found["unpaired"] == {
        f"{kind}-hard-{strategy}": n
        for strategy in ("levenshtein", "random") for kind, n in (("FSN_SYN", 2), ("SYN_SYN", 3))
    }  # fmt: skip
    assert json.loads((tmp_path / "new" / "out" / "statistics.json").read_text("utf-8")) == found
    assert (tmp_path / "new" / "out" / "NOTICE.txt").read_text("utf-8").splitlines() == [
        "Made by medsenteval from a list in legacy mode.", "A notice.", "Rights.",
        "Method: Schulz and Juric 2020, Can Embeddings Adequately Represent Medical Terminology?, AAAI.",
    ]  # fmt: skip
    assert (tmp_path / "new" / "out" / "rejected.txt").read_text("utf-8") == f"{positives.rejected[0]}\n"
    rows = (tmp_path / "new" / "out" / "SYN_SYN_hard_distance5.tsv").read_text("utf-8").splitlines()
    assert rows[:2] == ["label1\tlabel2", "alpha beta\tgamma delta"]
    assert (tmp_path / "new" / "out" / "same_as_easy_distance5.tsv").read_text("utf-8") == "source\ttarget\n"
    again: list[str] = []
    assert build(positives, tmp_path / "new" / "out", legacy=True, announce=again.append) == found
    assert "SYN_SYN-hard-random: finished before" in again


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
    for broken in ("a\tb\t2\n", "\tb\t1\n", "a\t\t0\n", "a\tb\t1\t\n"):
        (tmp_path / name.file).write_text(broken, "utf-8")
        with pytest.raises(DataError, match=r"simple\.txt:1: expected term, term, 0 or 1 between tabs"):
            read_set(tmp_path, name)
    (tmp_path / name.file).write_text("a\tb\t1\nc\td\t0\n", "utf-8")
    found = read_set(tmp_path, name)
    assert found is not None
    assert (found.pairs, found.similar) == ([("a", "b"), ("c", "d")], [True, False])
    assert (found.of(similar=True), found.of(similar=False)) == ([("a", "b")], [("c", "d")])
    assert not is_synthetic(tmp_path)
    (tmp_path / "SYNTHETIC.txt").write_text("")
    assert is_synthetic(tmp_path)
    assert source_of(tmp_path) == ""


def test_the_command_builds_snomed_sets_with_a_notice(tmp_path: Path) -> None:
    release = write_release(tmp_path / "snomed")
    english = next(release.rglob("sct2_Description_Full-en_*.txt"))
    (english.parent / english.name.replace("-en_", "-sv_")).write_bytes(english.read_bytes())
    out = tmp_path / "out"
    build_them = ["terms", "build", "--snomed", str(release), "-o", str(out)]
    assert "no Full file of descriptions in language 'de'" in CliRunner().invoke(main, [*build_them, "--language", "de"]).output
    assert "no Snapshot file of concepts" in CliRunner().invoke(main, [*build_them, "--release", "Snapshot"]).output
    refused = CliRunner().invoke(main, [*build_them, "--sources", "MSH"])
    assert (refused.exit_code, "--sources is 'MSH', which says nothing of --snomed" in refused.output) == (2, True)
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

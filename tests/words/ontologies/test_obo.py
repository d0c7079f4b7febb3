"""The OBO reader: every clause that the toolkit uses, circles, merged and obsolete terms, and errors with their line."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import pytest

from medsenteval.errors import DataError, DataMissingError, MedSentEvalWarning, MissingExtraError
from medsenteval.words.ontologies.obo import Ontology, OntologyTerm, Synonym, read_obo

TOY = """format-version: 1.4
data-version: toy/2026-01-01
remark: Free for tests.
property_value: terms:license https://example.org/licence
property_value: dc:title "Toy"

[Term]
id: T:1
name: Heart disease
namespace: toy
alt_id: T:7
alt_id: T:3
synonym: "Cardiac \\"disease\\"" EXACT []
synonym: "Heart trouble" RELATED layperson [X:1]
synonym: "Disease" BROAD []
synonym: "Heart attack" NARROW []

[Term]
id: T:2
name: Myocarditis
is_a: T:1 {source="someone"} ! Heart disease
relationship: part_of T:4 ! Heart

[Term]
id: T:3
name: Inflamed heart
is_a: T:2

[Term]
id: T:4
name: Heart

[Term]
id: T:5
name: obsolete Carditis
is_obsolete: true
is_a: T:1
alt_id: T:4
replaced_by: T:2
consider: T:3
consider: T:1

[Term]
id: T:2
is_a: T:3

[Term]
id: X:9

[Typedef]
id: part_of
name: part of

[Typedef]
id: near

[Instance]
id: I:1
"""


@pytest.fixture
def toy(tmp_path: Path) -> Ontology:
    path = tmp_path / "toy.obo"
    path.write_text(TOY, "utf-8")
    return read_obo(path)


def test_references_that_obo_does_not_allow_are_left_out_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "mpath.obo"
    clauses = [
        'def: "A \\"lesion\\" [1]." [Pathbase: Curation]',
        'synonym: "z" EXACT [Pathbase: Curation, PMID:1]',
        'synonym: "fine" EXACT [PMID:1 "d, e", PMID:2] {a="b"}',
        'synonym: "none" BROAD []',
    ]
    head, tail = "format-version: 1.2\n\n[Term]\nid: M:1\nname: x\n", "\n\n[Term]\nid: M:2\nname: y\nis_a: M:1\n"
    path.write_text(head + "\n".join(clauses) + tail, "utf-8")
    with pytest.warns(MedSentEvalWarning, match=r"2 definition\(s\) or synonym\(s\) have references .* the first in line 6"):
        found = read_obo(path)
    assert [each.text for each in found.terms["M:1"].synonyms] == ["z", "fine", "none"]
    assert found.descendants("M:1") == ("M:2",)
    path.write_text(head + clauses[0] + "\nis_a: two words\n" + tail, "utf-8")
    with pytest.raises(DataError, match=r"mpath\.obo:7: not OBO"):
        read_obo(path)


def test_reads_every_clause(toy: Ontology) -> None:
    assert list(toy.terms) == ["T:1", "T:2", "T:3", "T:4", "T:5", "X:9"]
    assert toy.terms["T:1"] == OntologyTerm(
        id="T:1",
        name="Heart disease",
        synonyms=(
            Synonym('Cardiac "disease"', "EXACT"),
            Synonym("Heart trouble", "RELATED", "layperson"),
            Synonym("Disease", "BROAD"),
            Synonym("Heart attack", "NARROW"),
        ),
        alt_ids=("T:7", "T:3"),
    )
    # The second frame of T:2 adds to the first.
    assert toy.terms["T:2"] == OntologyTerm("T:2", "Myocarditis", is_a=("T:1", "T:3"), relations=(("part_of", "T:4"),))
    assert toy.terms["T:5"].obsolete
    assert toy.terms["T:5"].replaced_by == ("T:2",)
    assert toy.terms["T:5"].consider == ("T:3", "T:1")
    assert toy.terms["X:9"].name == ""
    assert toy.relation_names == {"part_of": "part of", "near": "near"}
    assert (toy.file, toy.version) == ("toy.obo", "toy/2026-01-01")
    assert toy.rights == ("remark: Free for tests.", "property_value: terms:license https://example.org/licence")


def test_alternative_identifiers_lead_to_the_live_term(toy: Ontology) -> None:
    found = toy.find("T:7")
    assert found is not None
    assert found.name == "Heart disease"
    # T:3 is a term of its own, and what an obsolete term claims to have merged does not count.
    assert [toy.find(identifier).name for identifier in ("T:3", "T:4")] == ["Inflamed heart", "Heart"]  # type: ignore[union-attr]
    assert toy.find("T:99") is None


def test_descendants_walk_circles_once_and_skip_obsolete_terms(toy: Ontology) -> None:
    assert toy.descendants("T:1") == ("T:2", "T:3")
    assert toy.descendants("T:2") == ("T:3",)
    with pytest.raises(DataError, match="no term 'T:42'"):
        toy.descendants("T:42")


def test_reads_gzip(tmp_path: Path) -> None:
    path = tmp_path / "toy.obo.gz"
    path.write_bytes(gzip.compress(TOY.encode()))
    assert len(read_obo(path).terms) == 6


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"format-version: 1.2\n\n[Term]\nid: T:1\nname: a\nsynonym: bad\n", r"bad\.obo:6: not OBO"),
        (b"format-version: 1.2\n", "without a single"),
        (b"\xff\xfe", "cannot be read as OBO"),
        (b"\x1f\x8bnot gzip at all", "cannot be read as OBO"),
        (b"[Term]\nid: T:1\nname: a\n\n[Term]\nid: T:1\nname: b\n", "several names"),
    ],
)
def test_bad_files_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "bad.obo"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_obo(path)


def test_missing_file_and_missing_parser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataMissingError, match="no such file"):
        read_obo(tmp_path / "absent.obo")
    monkeypatch.setitem(sys.modules, "fastobo", None)
    with pytest.raises(MissingExtraError, match=r"medsenteval\[obo\]"):
        read_obo(tmp_path / "absent.obo")


@pytest.mark.realdata
def test_agrees_with_pronto_on_the_human_phenotype_ontology(realdata: Path) -> None:
    pronto = pytest.importorskip("pronto")
    path = realdata / "hpo" / "hp.obo"
    ours = read_obo(path)
    with pytest.warns(UnicodeWarning):
        theirs = pronto.Ontology(str(path))
    assert set(ours.terms) == {term.id for term in theirs.terms()}
    assert sum(term.obsolete for term in ours.terms.values()) == 450
    assert sum(len(term.synonyms) for term in ours.terms.values()) == 23519
    for term in theirs.terms():
        our = ours.terms[term.id]
        assert our.name == term.name
        assert {(synonym.text, synonym.scope) for synonym in our.synonyms} == {
            (synonym.description, synonym.scope) for synonym in term.synonyms
        }
        assert set(our.alt_ids) == set(term.alternate_ids)
    eye = {term.id for term in theirs["HP:0000478"].subclasses(with_self=False)}
    assert set(ours.descendants("HP:0000478")) == eye

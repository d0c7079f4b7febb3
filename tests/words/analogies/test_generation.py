"""Analogies from tables, ontologies and UMLS: the paper's construction, and files that the task reads back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from medsenteval import registry
from medsenteval.cli.main import main
from medsenteval.datasets.locate import load_dataset
from medsenteval.errors import DataError, DataMissingError, SettingsError
from medsenteval.settings import Settings
from medsenteval.tasks.analogy.analogy_sets import AnalogyDataset
from medsenteval.words.analogies.generation import Concept, Generated, RelationSummary, generate, write_bmass
from medsenteval.words.analogies.sources import read_frequencies, read_obo_facts, read_relation_table, read_umls_facts

Write = Callable[..., Path]
SMALL: dict[str, Any] = {"one_to_one": 2, "pairs": 3, "frequency_floor": 5}


def concepts(*names: str) -> list[Concept]:
    return [(name, (name,)) for name in names]


def read_back(root: Path, setting: str) -> AnalogyDataset:
    settings = Settings(task_options={"BMASS": {"setting": setting}}, allow_incomplete=True)
    dataset = load_dataset(registry.task("BMASS"), root, settings)
    assert isinstance(dataset, AnalogyDataset)
    return dataset


def test_relations_need_one_to_one_instances_and_subjects(tmp_path: Path) -> None:
    known = concepts("s1", "s2", "s3", "o1", "o2", "o3", "o4")
    facts = [("s1", "r", "o1"), ("s2", "r", "o2"), ("s3", "r", "o3"), ("s3", "r", "o4"), ("s1", "r", "unknown"),
             ("s1", "many", "o1"), ("s2", "many", "o1"), ("s3", "many", "o1"),
             ("s1", "few", "o1"), ("s2", "few", "o2")]  # fmt: skip
    made = generate(known, facts, **SMALL)
    assert {each.relation: (each.facts, each.subjects, each.one_to_one, each.kept) for each in made.summaries} == {
        "r": (4, 3, 2, True), "many": (3, 3, 0, False), "few": (2, 2, 2, False)}  # fmt: skip
    assert dict(made.pairs["r"]).keys() == {"s1", "s2", "s3"}
    assert set(dict(made.pairs["r"])["s3"]) == {"o3", "o4"}
    assert made.n_analogies == 6
    write_bmass(made, tmp_path / "BMASS")
    assert {len(analogy.d) for _, analogy in read_back(tmp_path, "all-info").chosen()} == {1, 2}
    assert {len(analogy.b) for _, analogy in read_back(tmp_path, "multi-answer").chosen()} == {1}
    assert {len(analogy.d) for _, analogy in read_back(tmp_path, "single-answer").chosen()} == {1}
    assert len(read_back(tmp_path, "all-info")) == 6


def test_by_default_a_relation_needs_what_the_paper_asks() -> None:
    """Newman-Griffis et al. 2017: 50 1:1 instances, 50 pairs sampled, terms that occur 25 times."""
    known = [(f"{kind}{i}", (f"{kind}{i}",)) for kind in "so" for i in range(52)]
    for n, kept in ((49, False), (50, True), (52, True)):
        made = generate(known, [(f"s{i}", "r", f"o{i}") for i in range(n)])
        assert made.summaries[0].kept == kept
        assert made.n_analogies == (50 * 49 if kept else 0)
    common = generate(concepts("a", "b"), [("a", "r", "b")], {"a": 25, "b": 24})
    assert common.term_of == {"a": "a"}
    for name, number in {"pairs": 1, "one_to_one": -1, "frequency_floor": -1}.items():
        wrong: dict[str, Any] = {name: number}
        with pytest.raises(SettingsError, match=rf"{name}.* {number}.*; an analogy needs two pairs, and no number may be neg"):
            generate([], [], **wrong)
    facts = [(f"s{i}", "r", f"o{i}") for i in range(9)]
    fewest = generate(known, facts, pairs=2, one_to_one=0, frequency_floor=0).pairs
    assert len(fewest["r"]) == 2
    assert generate(known, facts, pairs=2, one_to_one=0, seed=1111).pairs == fewest
    ambiguous = generate(
        concepts(*"abcdef"), [("a", "r", "b"), ("c", "r", "d"), ("c", "r", "e"), ("a", "r", "A")],
        one_to_one=1, pairs=2,
    )  # fmt: skip
    assert [(each.facts, each.one_to_one, each.ambiguity) for each in ambiguous.summaries] == [(3, 1, 1.5)]


def test_frequent_terms_stand_for_their_concepts() -> None:
    known = [("C1", ("rare", "Common", "usual")), ("C2", ("seldom",)), ("C3", ("other\tterm",))]
    counts = {"common": 9.0, "usual": 8.0, "rare": 1.0, "seldom": 4.0, "other term": 5.0}
    made = generate(known, [("C1", "r", "C3"), ("C1", "r", "C2")], counts, **SMALL)
    assert made.term_of == {"C1": "Common", "C3": "other term"}
    assert made.candidates == ("Common", "usual", "other term")
    # Without counts only preferred names are candidates.
    assert generate(known, [("C1", "r", "C3")], None, **SMALL).candidates == ("rare", "seldom", "other term")
    assert made.summaries[0].facts == 1
    with pytest.raises(DataError, match="no relation has enough 1:1 instances"):
        write_bmass(made, Path("unused"))


def test_files_hold_every_two_pairs_in_each_setting(tmp_path: Path) -> None:
    pairs = {"r": [("X:1", ("X:2", "X:3")), ("X:4", ("X:5",))]}
    terms = {"X:1": "a", "X:2": "b", "X:3": "bb", "X:4": "c, c", "X:5": "d"}
    summaries = (RelationSummary("r", 3, 2, 1, 1.5, True), RelationSummary("few", 1, 1, 1, 0.0, False))
    made = Generated(pairs, terms, ("a", "b"), summaries)
    assert made.n_analogies == 2
    written = {path.name: path.read_text("utf-8").splitlines() for path in write_bmass(made, tmp_path / "new" / "BMASS")}
    a, b, more, c, d = 'X_1:"a"', 'X_2:"b"', 'X_3:"bb"', 'X_4:"c, c"', 'X_5:"d"'
    assert written == {
        "PubMed_frequent_terms.txt": ["a", "b"],
        "BMASS_single_answer.txt": ["# r", f"{a}\t{b}\t{c}\t{d}", f"{c}\t{d}\t{a}\t{b}"],
        "BMASS_multi_answer.txt": ["# r", f"{a}\t{b}\t{c}\t{d}", f"{c}\t{d}\t{a}\t{b},{more}"],
        "BMASS_all_info.txt": ["# r", f"{a}\t{b},{more}\t{c}\t{d}", f"{c}\t{d}\t{a}\t{b},{more}"],
        "summary.tsv": ["relation\tfacts\tsubjects\tone_to_one\tambiguity\tkept", "r\t3\t2\t1\t1.50\tTrue",
                        "few\t1\t1\t1\t0.00\tFalse"],
    }  # fmt: skip
    with pytest.raises(DataError, match=r"the best of 2 has 1 1:1\); lower --one-to-one or --pairs"):
        write_bmass(Generated({}, terms, (), summaries), tmp_path)


def test_pairs_begin_with_the_object_that_was_drawn() -> None:
    facts = [("s1", "r", "o1"), ("s1", "r", "o2"), ("s1", "r", "o3"), ("s2", "r", "o4"), ("s3", "r", "o5")]
    known = concepts("s1", "s2", "s3", "o1", "o2", "o3", "o4", "o5")
    drawn = set()
    for seed in range(20):
        found = generate(known, facts, one_to_one=2, pairs=2, seed=seed).pairs["r"]
        assert len(dict(found)) == 2
        for subject, objects in found:
            assert list(objects[1:]) == [each for s, _, each in facts if s == subject and each != objects[0]]
            drawn.add((subject, objects[0]))
    assert drawn == {(subject, each) for subject, _, each in facts}


def test_an_ontology_gives_its_names_and_relations(tmp_path: Path) -> None:
    pytest.importorskip("fastobo")
    path = tmp_path / "toy.obo"
    path.write_text(
        'format-version: 1.4\n\n[Term]\nid: X:1\nname: heart\nsynonym: "cor" EXACT []\nsynonym: "organ" BROAD []\n'
        "is_a: X:3\n\n[Term]\nid: X:2\nname: valve\nrelationship: part_of X:1\nrelationship: near X:3\n\n[Term]\nid: X:3\n"
        "name: organ\n\n[Term]\nid: X:4\nname: old\nis_obsolete: true\nis_a: X:3\n\n[Typedef]\nid: part_of\nname: part of\n",
        "utf-8",
    )
    found, facts = read_obo_facts(path)
    assert list(found) == [("X:1", ("heart", "cor")), ("X:2", ("valve",)), ("X:3", ("organ",))]
    assert list(facts) == [("X:1", "is_a", "X:3"), ("X:2", "part of", "X:1"), ("X:2", "near", "X:3")]
    assert list(read_obo_facts(path, ["part of", "is_a"])[1]) == [("X:1", "is_a", "X:3"), ("X:2", "part of", "X:1")]
    with pytest.raises(DataError, match=r"toy\.obo: no relation loves, hates; it has is_a, part of, near"):
        read_obo_facts(path, ["loves", "near", "hates"])


def test_the_same_seed_draws_the_same_pairs() -> None:
    known = concepts(*(f"{kind}{i}" for kind in "so" for i in range(40)))
    facts = [(f"s{i}", "r", f"o{i}") for i in range(40)]
    first, again, other = (generate(known, facts, one_to_one=10, pairs=10, seed=seed).pairs for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_tables(write: Write) -> None:
    root = write({
        "header.csv": 'object,subject,relation\n"heart, left",valve,part_of\n',
        "named.tsv": "subject\trelation\tobject\tnote\n valve \tpart_of\theart\t\n\n",
        "short.tsv": "subject\trelation\tobject\nvalve\tpart_of\t\n",
        "ragged.tsv": "subject\trelation\tobject\nvalve\tpart_of\n",
        "empty.tsv": "", "counts.tsv": "Heart\t20\n\nheart\t5\nlung\t0\n", "bad.tsv": "heart\t3\nheart\tmany\n",
        "nan.tsv": "heart\tnan\n", "less.tsv": "heart\t-1\n", "slip.tsv": "heart\t1_000\n", "most.tsv": "heart\tinf\n",
    })  # fmt: skip
    assert list(read_relation_table(root / "header.csv")[1]) == [("valve", "part_of", "heart, left")]
    terms, facts = read_relation_table(root / "named.tsv")
    assert (list(terms), list(facts)) == ([("valve", ("valve",)), ("heart", ("heart",))], [("valve", "part_of", "heart")])
    (root / "lines.csv").write_text('subject,relation,object\nvalve,"part\nof",heart\n', "utf-8")
    assert list(read_relation_table(root / "lines.csv")[1]) == [("valve", "part of", "heart")]
    (root / "list.jsonl").write_text('{"subject": "valve", "relation": "part_of", "object": ["heart", "vein"]}\n', "utf-8")
    with pytest.raises(DataError, match=r"list.jsonl:1: expected subject, relation and object, got"):
        read_relation_table(root / "list.jsonl")
    for name in ("short", "ragged"):
        with pytest.raises(DataError, match=rf"{name}.tsv:2: expected subject, relation and object, got"):
            read_relation_table(root / f"{name}.tsv")
    with pytest.raises(DataError, match=r"empty.tsv:1: no header row"):
        read_relation_table(root / "empty.tsv")
    with pytest.raises(DataMissingError, match="no such file"):
        read_relation_table(root / "absent.tsv")
    assert read_frequencies(root / "counts.tsv") == {"heart": 25.0, "lung": 0.0}
    for name, line in (("bad", 2), ("nan", 1), ("less", 1), ("slip", 1), ("most", 1)):
        with pytest.raises(DataError, match=rf"{name}.tsv:{line}: expected 'term TAB count', got 'heart"):
            read_frequencies(root / f"{name}.tsv")
    (root / "latin.tsv").write_bytes("fièvre\t3\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"latin.tsv: not UTF-8"):
        read_frequencies(root / "latin.tsv")
    (root / "latin.csv").write_bytes("subject,relation,object\nfièvre,part_of,grippe\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"latin.csv: not UTF-8"):
        read_relation_table(root / "latin.csv")
    with pytest.raises(DataError, match="no counts"):
        read_frequencies(root / "empty.tsv")


def test_tables_of_relations_need_no_header_but_no_other_one(write: Write) -> None:
    facts = [("valve", "part_of", "heart"), ("heart", "part_of", "body")]
    rows = "valve\tpart_of\theart\n\nheart\tpart_of\tbody\n"
    good = {
        "plain.tsv": rows,
        "plain.csv": rows.replace("\t", ","),
        "bars.csv": rows.replace("\t", "|"),
        "named.tsv": f"Subject\tPredicate\tOBJECT\n{rows}",
        "more.csv": "n,Object,Relation,Subject\n1,heart,part_of,valve\n2,body,part_of,heart\n",
        "keys.jsonl": "".join(f'{{"Object": "{c}", "predicate": "{b}", "Subject": "{a}"}}\n' for a, b, c in facts),
    }
    bad = {
        "two.tsv": "valve\theart\n",
        "four.tsv": "valve\tpart_of\theart\tx\n",
        "gap.tsv": "valve\t\theart\n",
        "first.tsv": "\tpart_of\theart\n",
        "last.csv": "valve,part_of,\nheart,part_of,body\n",
        "half.tsv": f"subject\tverb\tobject\n{rows}",
        "twice.csv": "subject,relation,predicate,object\na,b,c,d\n",
        "case.csv": "subject,Subject,relation,object\na,b,c,d\n",
        "other.jsonl": '{"a": "valve", "b": "part_of", "c": "heart"}\n',
    }
    root = write({**good, **bad, "short.tsv": rows + "valve\tpart_of\n"})
    for name in good:
        assert list(read_relation_table(root / name)[1]) == facts, name
    for name in bad:
        expected = (
            rf"{name}: the columns are .+; name one of each subject, relation \(or predicate\) and object in the first row"
        )
        with pytest.raises(DataError, match=expected):
            read_relation_table(root / name)
    with pytest.raises(DataError, match=r"short.tsv:4: expected subject, relation and object, got"):
        read_relation_table(root / "short.tsv")
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for fact in facts:
        book.active.append(fact)
    book.save(root / "plain.xlsx")
    assert list(read_relation_table(root / "plain.xlsx")[1]) == facts


def umls(n: int) -> dict[str, str]:
    """Synthetic MRCONSO and MRREL: drugs with trade names of one kind."""
    names, relations = [], []
    for i in range(n):
        for number, text in ((2 * i, f"drug {i}"), (2 * i + 1, f"Brand{i}")):
            cui = f"C{number:07d}"
            names.append(f"{cui}|ENG|P|L1|PF|S1|Y|A1||||SRC|PT|1|{text}|0|N||")
            names.append(f"{cui}|FRE|P|L1|PF|S1|Y|A1||||SRC|PT|1|{text} (fr)|0|N||")
        drug, brand = f"C{2 * i:07d}", f"C{2 * i + 1:07d}"
        relations.append(f"{brand}|A1|AUI|RO|{drug}|A2|AUI|has_tradename|R1||SRC|SRC||N|N||")
        relations.append(f"{brand}|A1|AUI|RO|{drug}|A2|AUI||R1||SRC|SRC||N|O||")
    return {"META/MRCONSO.RRF": "\n".join(names) + "\n", "META/MRREL.RRF": "\n".join(relations) + "\n"}


def test_umls_relations_run_from_the_second_concept_to_the_first(write: Write) -> None:
    found, facts = read_umls_facts(write(umls(2)))
    assert list(found)[:2] == [("C0000000", ("drug 0",)), ("C0000001", ("Brand0",))]
    assert list(facts) == [("C0000000", "RO: has_tradename", "C0000001"), ("C0000002", "RO: has_tradename", "C0000003")]
    broken = write({**umls(1), "META/MRREL.RRF": "C1|C2|\n"}, "broken")
    with pytest.raises(DataError, match=r"MRREL.RRF:1: 2 fields where MRREL has 16"):
        list(read_umls_facts(broken)[1])
    with pytest.raises(DataMissingError, match=r"no MRREL.RRF below it"):
        read_umls_facts(write({"META/MRCONSO.RRF": ""}, "none"))


def test_the_command_generates_from_umls_and_the_result_can_be_scored(write: Write, tmp_path: Path) -> None:
    root, out = write(umls(12)), tmp_path / "made"
    counts = write({"counts.tsv": "".join(f"drug {i}\t30\nbrand{i}\t40\n" for i in range(12))}, "counts") / "counts.tsv"
    command = [
        "analogies",
        "generate",
        "--umls",
        str(root),
        "--frequencies",
        str(counts),
        "--one-to-one",
        "10",
        "--pairs",
        "10",
    ]
    made = CliRunner().invoke(main, [*command, "-o", str(out)])
    assert made.exit_code == 0, made.output
    assert "90 analogies of 1 relation(s) and 24 candidates" in made.output
    results = tmp_path / "results"
    for setting in ("multi-answer", "all-info"):
        option = f"BMASS.setting={setting}"
        arguments = ["-d", str(out), "-o", str(results), "--quiet", "--option", option, "--allow-incomplete"]
        ran = CliRunner().invoke(main, ["run", "-t", "BMASS", *arguments])
        assert ran.exit_code == 0, ran.output
        assert f"{setting}-3cosadd" in ran.output
    pytest.importorskip("matplotlib")
    drawn = CliRunner().invoke(main, ["analogies", "figures", str(results), "-o", str(tmp_path / "figures")])
    assert drawn.exit_code == 0, drawn.output
    figures = sorted((tmp_path / "figures").glob("*.png"))
    assert len(figures) == 3
    assert all(figure.read_bytes().startswith(b"\x89PNG") and figure.stat().st_size > 5000 for figure in figures)


@pytest.mark.parametrize("source", ["table", "obo"])
def test_the_command_takes_tables_and_ontologies(write: Write, tmp_path: Path, source: str) -> None:
    if source == "table":
        text = "".join(f"subject {i}\tcures\tobject {i}\n" for i in range(4))
        file = write({"facts.tsv": "subject\trelation\tobject\n" + text}) / "facts.tsv"
    else:
        pytest.importorskip("fastobo")
        terms = [f"[Term]\nid: X:{i}\nname: subject {i}\nrelationship: cures X:{i + 4}\n" for i in range(4)]
        terms += [f"[Term]\nid: X:{i + 4}\nname: object {i}\n" for i in range(4)]
        cures = "[Typedef]\nid: cures\nname: cures\n"
        file = write({"facts.obo": "\n".join(["format-version: 1.2\n", *terms, cures])}) / "facts.obo"
    command = [
        "analogies",
        "generate",
        f"--{source}",
        str(file),
        "--one-to-one",
        "4",
        "--pairs",
        "3",
        "-o",
        str(tmp_path / "made"),
    ]
    made = CliRunner().invoke(main, command)
    assert made.exit_code == 0, made.output
    assert [line.split() for line in made.output.splitlines()[:3]][::2] == [
        ["Relation", "Facts", "Subjects", "1:1", "Answers", "Kept"],
        ["cures", "4", "4", "4", "1.0", "yes"],
    ]
    assert "6 analogies of 1 relation(s) and 8 candidates" in made.output
    assert "without --frequencies rare terms are in it" in made.output


def test_the_command_refuses_what_it_cannot_do(tmp_path: Path) -> None:
    out = ["-o", str(tmp_path / "made")]
    assert "name one source" in CliRunner().invoke(main, ["analogies", "generate", *out]).output
    two = CliRunner().invoke(main, ["analogies", "generate", "--table", "x", "--relation", "r", *out])
    assert (two.exit_code, "needs --obo" in two.output) == (2, True)
    absent = CliRunner().invoke(main, ["analogies", "figures", str(tmp_path)])
    assert (absent.exit_code, "no result of BMASS is stored" in absent.output) == (2, True)


@pytest.mark.realdata
def test_the_human_phenotype_ontology_makes_analogies(realdata: Path, tmp_path: Path) -> None:
    pytest.importorskip("fastobo")
    known, facts = read_obo_facts(realdata / "hpo" / "hp.obo", ["is_a"])
    made = generate(known, facts)
    (summary,) = made.summaries
    assert summary.facts > 20_000
    assert summary.one_to_one > 500
    assert made.n_analogies == 50 * 49
    write_bmass(made, tmp_path / "BMASS")
    dataset = read_back(tmp_path, "all-info")
    assert len(dataset) == 2450
    assert not dataset.rejected
    parents = {(subject, object_) for subject, _, object_ in facts}
    assert all((subject, object_) in parents for subject, objects in made.pairs["is_a"] for object_ in objects)
    with pytest.raises(DataError, match=r"no relation loves; it has is_a"):
        read_obo_facts(realdata / "hpo" / "hp.obo", ["loves"])

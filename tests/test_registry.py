"""Names resolve lazily, in any case, with suggestions; specifications parse into kind, argument and options."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from medsenteval import registry
from medsenteval.errors import EncoderError, SettingsError, UnknownNameError


@pytest.mark.parametrize(
    ("spelling", "name"),
    [("MedNLI", "MedNLI"), ("MEDNLI", "MedNLI"), ("PUBMED20K", "PubMed20K"), ("pubmed-20k", "PubMed20K"),
     ("ClinicalSA", "VaccineSA"), ("PatientSA", "VaccineSA"), ("Vac.SA", "VaccineSA"), ("Cit.SA", "CitationSA"),
     ("C-STS", "ClinicalSTS"), ("clinical-STS", "ClinicalSTS"), ("bioc", "BioC"), ("BIOC", "BioC")],
)  # fmt: skip
def test_names_of_the_paper_and_of_the_original_code_resolve(spelling: str, name: str) -> None:
    assert registry.task(spelling).name == name


def test_an_unknown_name_suggests_and_is_an_assertion_error_as_in_senteval() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'MedNLI'") as caught:
        registry.task("MedNIL")
    assert isinstance(caught.value, AssertionError)
    with pytest.raises(UnknownNameError, match="no encoder is called 'lexikal'; did you mean 'lexical'"):
        registry.load_encoder("lexikal")


def test_a_plug_in_may_offer_a_task_that_we_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnknownNameError, match="is not offered"):
        registry.task("ImageCaptionRetrieval")
    plug_in = EntryPoint("ImageCaptionRetrieval", "medsenteval.tasks.sentence.mednli:TASK", "medsenteval.tasks")
    monkeypatch.setattr(registry, "_plugins", lambda group: {plug_in.name: plug_in})
    assert registry.task("imagecaption-retrieval") is registry.task("MedNLI")


def test_a_path_without_its_kind_says_which_kinds_there_are(tmp_path: Path) -> None:
    (tmp_path / "glove.txt").write_text("a 1 2\n")
    with pytest.raises(UnknownNameError, match=r"is a file or folder; say what kind .*vectors:.*glove\.txt for word vectors"):
        registry.load_encoder(str(tmp_path / "glove.txt"))


def test_groups_and_names_select_each_task_once_in_order() -> None:
    assert [task.name for task in registry.select_tasks("RQE,sentence")][:3] == ["RQE", "MedNLI", "PubMed20K"]
    assert len(registry.select_tasks(["sentence", "ClinicalSA"])) == 10
    sick = ["SICKEntailment", "SICKRelatedness", "SICKRelatednessCosine"]
    assert [task.name for task in registry.select_tasks("SICK,RQE")] == [*sick, "RQE"]
    assert registry.select_names("sick", []) == set(sick)
    with pytest.raises(UnknownNameError, match="no task is called 'NoSuchSet'"):
        registry.select_tasks("NoSuchSet")
    own = replace(registry.task("RQE"), name="Own")
    assert registry.select_tasks(["BIOSSES", own, "BIOSSES"]) == [registry.task("BIOSSES"), own]
    with pytest.raises(SettingsError, match="no task was selected"):
        registry.select_tasks(" , ")


@pytest.mark.parametrize(
    ("spec", "parts"),
    [("lexical", ("lexical", "", {})),
     ("lexical,dimension=64", ("lexical", "", {"dimension": "64"})),
     ("vectors:a/b.txt,case=lower,pooling=max", ("vectors", "a/b.txt", {"case": "lower", "pooling": "max"})),
     ("vectors:C:\\odd,name.txt", ("vectors", "C:\\odd,name.txt", {})),
     ("python:module:thing", ("python", "module:thing", {})),
     ("endpoint:http://h:80/v1#m,batch-size=4", ("endpoint", "http://h:80/v1#m", {"batch_size": "4"}))],
)  # fmt: skip
def test_encoder_specifications(spec: str, parts: tuple[str, str, dict[str, str]]) -> None:
    assert registry.parse_encoder_spec(spec) == parts


def test_options_reach_the_loader_and_wrong_ones_are_named() -> None:
    encoder = registry.load_encoder("lexical,dimension=64,name=mine")
    assert (encoder.name, encoder.encode(["x"]).shape) == ("mine", (1, 64))
    with pytest.raises(EncoderError, match=r"has no option 'dim' \(in 'lexical,dim=64'\); it has dimension, name, precision, "):
        registry.load_encoder("lexical,dim=64")


def test_every_task_describes_itself_whole() -> None:
    for task in registry.select_tasks("sentence"):
        assert task.citation
        assert task.licence
        assert task.access in {"open", "registration", "credentialed", "on request"}
        assert task.obtain
        assert set(task.metrics) <= {"acc", "f1", "pearson", "spearman"}
        assert ("f1" not in task.metrics) or task.positive_label in task.labels


def test_importing_is_light() -> None:
    code = (
        "import sys; import medsenteval;"
        "print(*{'numpy', 'torch', 'tensorflow', 'transformers', 'sklearn', 'scipy'} & set(sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split() == []


def test_names_are_listed_where_they_are_few_and_counted_where_they_are_many() -> None:
    few, many = ({f"n{i:02}": f"N{i:02}" for i in range(n)} for n in (20, 21))
    assert registry.resolve_name("thing", " n-03 ", few) == "N03"
    with pytest.raises(UnknownNameError, match=r"^no thing is called 'zzz'; Known: N00, N01, .*, N19$"):
        registry.resolve_name("thing", "zzz", few)
    with pytest.raises(UnknownNameError, match=r"^no thing is called 'zzz'; `medsenteval things` lists all 21$"):
        registry.resolve_name("thing", "zzz", many)
    with pytest.raises(UnknownNameError, match=r"'n0'; did you mean '(N0\d|N\d0)' or '(N0\d|N\d0)' or '(N0\d|N\d0)'\? All$"):
        registry.resolve_name("thing", "n0", many, "All")
    assert registry.same_names("A", ["a", "A", "b"]) == ["A"]
    assert registry.same_names("B", ["a", "A", "b"]) == ["b"]
    assert registry.same_names("a", ["A", "á"]) == ["A"]


@pytest.mark.parametrize(
    ("selection", "is_table"),
    [
        ("MR", False), ([], False), ((), False), (["MR"], False), (("MR", "CR"), False), ([{"text": "a"}], True),
        (([1], [2]), True), ([[1], [2]], False), ({"text": ["a"]}, True), ((Path("a.csv"),), False),
        (SimpleNamespace(columns=[]), True), (SimpleNamespace(column_names=[]), True), (SimpleNamespace(), False),
    ],
)  # fmt: skip
def test_data_itself_is_told_from_names_of_tasks(selection: Any, is_table: bool) -> None:
    assert registry._is_table(selection) is is_table


def test_options_that_were_added_are_read_again() -> None:
    options = {"prompt": 'a, "b"=c\\\n\td', "case": "lower", "empty": ""}
    spec = registry.add_options("vectors:x.txt", options)
    assert spec == 'vectors:x.txt,prompt="a, \\"b\\"=c\\\\\\n\\td",case=lower,empty='
    assert registry.parse_encoder_spec(spec) == ("vectors", "x.txt", options)
    assert registry.parse_encoder_spec('lexical,name="') == ("lexical", "", {"name": '"'})


@pytest.mark.parametrize(
    "spec", ["lexical,dimension=64,dimension=32", "vectors:x.txt,case=lower,name=a,case=lower", "x:y,a-b=1,a_b=2"]
)
def test_an_option_given_twice_is_refused(spec: str) -> None:
    with pytest.raises(SettingsError, match=r"the option (dimension|case|a_b) is given twice; give it once"):
        registry.parse_encoder_spec(spec)


def test_plug_ins_offer_encoders_and_tasks_under_any_spelling(monkeypatch: pytest.MonkeyPatch) -> None:
    def points(group: str, **named: str) -> dict[str, EntryPoint]:
        return {name: EntryPoint(name, place, group) for name, place in named.items()}

    offered = {
        "medsenteval.encoders": points("medsenteval.encoders", MyKind="medsenteval.encoders.lexical:load", Bare="builtins:str"),
        "medsenteval.tasks": points("medsenteval.tasks", Odd="json:loads", RQE="json:loads"),
    }
    monkeypatch.setattr(registry, "_plugins", offered.__getitem__)
    assert (registry.encoder_kinds()["MyKind"], registry.encoder_kinds()["lexical"]) == (
        "from a plug-in",
        registry.ENCODER_KINDS["lexical"][1],
    )
    assert registry.load_encoder("my-kind,dimension=16").encode(["x"]).shape == (1, 16)
    with pytest.raises(EncoderError, match=r"^'bare' loaded a str that has no name, identity and encode$"):
        registry.load_encoder("bare")
    assert registry.task_names()[-1] == "Odd"
    assert registry.task_names().count("RQE") == 1
    assert registry.task("rqe").name == "RQE"
    with pytest.raises(SettingsError, match=r"^the task 'Odd' is a function, not a medsenteval Task$"):
        registry.task("odd")


def test_a_selection_is_split_at_commas_that_part_tasks() -> None:
    assert registry._split_selection("RQE,file:a.csv,label=x,text=y,MR,k=v") == [
        "RQE",
        "file:a.csv,label=x,text=y",
        "MR",
        "k=v",
    ]
    assert registry._split_selection(" file:a.csv,label=x") == [" file:a.csv,label=x"]
    assert registry.select_names("FILE:a.csv,", ["file:A.csv"]) == {"file:A.csv"}
    assert registry.select_names("file:a.csv", ["file:a.csv", "file:A.csv"]) == {"file:a.csv"}

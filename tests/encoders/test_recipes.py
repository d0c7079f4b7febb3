"""Every encoder of the published tables has a recipe; a recipe resolves by name or says exactly what to put where."""

from __future__ import annotations

import importlib.util
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path
from string import Formatter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from medsenteval import registry
from medsenteval.cli.main import main
from medsenteval.comparison.published.numbers import read_table
from medsenteval.encoders.recipes import (
    PublishedRow,
    Recipe,
    declared_tasks,
    describe,
    models_folder,
    read_declaration,
    recipes,
)
from medsenteval.errors import EncoderError, UnknownNameError

RECIPES = list(recipes().values())
BY_HAND = [recipe for recipe in RECIPES if not recipe.automatic]


def published_encoders() -> set[tuple[str, str, str]]:
    """Every (file, table, row) of the CSV files that names an encoder; the table only where row names need it."""
    rows = {("medsenteval_table3", "", row["encoder"]) for row in read_table("medsenteval_table3")}
    # Table A.2 compares vocabularies, which some encoders share.
    rows |= {
        ("medisim_tables", "", row["encoder"])
        for row in read_table("medisim_tables")
        if row["encoder"] and not row["table"].endswith("-a.2")
    }
    # Tables 5 and 7 print scores of models and of windows.
    rows |= {
        ("biosim_tables", table, row["encoder"].removeprefix("window "))
        for row in read_table("biosim_tables")
        for table in ("5", "7")
        if row["table"] == f"biosim-{table}"
    }
    # Table 9 prints correlations over five encoders, which the text names.
    rows |= {("biosim_tables", "9", row) for row in ("Paragram", "Paragram+CF", "Symmetric", "CBOW-general", "Dep-general")}
    # The first tables of BMASS hold categories of relations in the same column; those have no setting.
    rows |= {("bmass_tables", "", row["encoder"]) for row in read_table("bmass_tables") if row["setting"]}
    return rows


@pytest.fixture(autouse=True)
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A models folder of the test's own, so that nothing depends on what the user has fetched."""
    folder = tmp_path / "models"
    monkeypatch.setenv("MEDSENTEVAL_MODELS", str(folder))
    return folder


def put(folder: Path, recipe: Recipe) -> None:
    for alternatives in recipe.files.values():
        path = folder / alternatives[0]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def test_every_published_encoder_has_a_recipe_and_no_recipe_names_another_row() -> None:
    expected = published_encoders()
    counts = {
        file: sum(row[0] == file for row in expected) for file in ("medsenteval_table3", "medisim_tables", "bmass_tables")
    }
    assert counts == {"medsenteval_table3": 18, "medisim_tables": 23, "bmass_tables": 5}
    assert sum(row[0] == "biosim_tables" for row in expected) == 7 + 9 + 5
    assert {(row.file, row.table, row.row) for recipe in RECIPES for row in recipe.rows} == expected


def test_dimensions_are_those_of_table_3() -> None:
    printed = {row["encoder"]: int(row["dimension"]) for row in read_table("medsenteval_table3")}
    found = {row.row: recipe.dimension for recipe in RECIPES for row in recipe.rows if row.file == "medsenteval_table3"}
    assert found == printed


def test_a_row_with_several_recipes_has_at_most_one_beyond_doubt() -> None:
    certain = [(row.file, row.table, row.row) for recipe in RECIPES for row in recipe.rows if not row.doubt]
    assert len(certain) == len(set(certain))


def test_spellings_are_unambiguous_and_hide_no_kind() -> None:
    key = registry.name_key
    spellings = [key(name) for recipe in RECIPES for name in (recipe.name, *recipe.aliases)]
    assert len(spellings) == len(set(spellings))
    assert not set(spellings) & {key(kind) for kind in registry.encoder_kinds()}
    for recipe in RECIPES:
        assert re.fullmatch(r"[a-z0-9][a-z0-9.-]*", recipe.name)
        for name in (recipe.name, recipe.name.upper(), *recipe.aliases):
            assert registry.encoder_name(name) == (recipe.name, recipe)


@pytest.mark.parametrize(
    "row", ["BioBERT", "SciBERT", "GloVe_840B", "InferSent1_MedNLI", "LTL win2", "PM-30", "MIMIC M", "AUEB400"]
)
def test_names_of_the_tables_resolve(row: str) -> None:
    recipe = registry.encoder_name(row)[1]
    assert isinstance(recipe, Recipe)
    assert row in {published.row for published in recipe.rows}


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_every_recipe_is_whole(recipe: Recipe) -> None:
    assert recipe.kind in registry.encoder_kinds()
    assert recipe.title
    assert recipe.source
    assert recipe.licence
    # What no published table names says of itself how its authors use it.
    assert recipe.rows or (recipe.pooling and recipe.limit)
    assert recipe.dimension is None or (type(recipe.dimension) is int and recipe.dimension > 0)
    assert type(recipe.automatic) is bool
    assert recipe.automatic != bool(recipe.files)
    assert recipe.automatic != bool(recipe.obtain)
    used = {key for part in (recipe.argument, *recipe.options.values()) for _, key, _, _ in Formatter().parse(part) if key}
    assert used == set(recipe.files), "every placeholder is a file, and every file a placeholder"
    for alternatives in recipe.files.values():
        for relative in alternatives:
            folder, _, file = relative.partition("/")
            assert folder in recipes(), "files lie in the folder of the recipe that they belong to"
            assert file
            assert ".." not in relative


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_the_loader_knows_every_option_of_the_recipe(recipe: Recipe) -> None:
    module, _, function = registry.ENCODER_KINDS[recipe.kind][0].partition(":")
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not there")
    parameters = inspect.signature(getattr(importlib.import_module(module), function)).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        pytest.skip("the loader takes any option and checks them itself")
    assert set(recipe.options) <= set(parameters) - {"argument"}


def test_todays_encoders_are_there_by_the_names_that_people_use() -> None:
    names = (
        "SapBERT BioLORD-2023 MedCPT PubMedBERT BiomedBERT PubMedBERT-embeddings BioSimCSE BioLinkBERT ClinicalBERT GatorTron"
    )
    names += " SPECTER2 MedEmbed BMRetriever E5 BGE GTE Qwen3-Embedding EmbeddingGemma ModernBERT-embed all-MiniLM-L6-v2"
    for name in names.split():
        assert registry.encoder_name(name)[1] is not None, name


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_the_specification_that_is_shown_loads_the_same(recipe: Recipe, models: Path) -> None:
    kind, argument, options = registry.parse_encoder_spec(recipe.specification)
    paths = {placeholder: alternatives[0] for placeholder, alternatives in recipe.files.items()}
    assert (kind, argument) == (recipe.kind, recipe.argument.format_map(paths))
    assert options == {key: value.format_map(paths) for key, value in recipe.options.items()}


def test_prompts_of_a_recipe_reach_the_loader_and_the_user_can_replace_them(monkeypatch: pytest.MonkeyPatch) -> None:
    from medsenteval.encoders.contextual import transformer

    seen: dict[str, str] = {}
    monkeypatch.setattr(transformer, "load", lambda argument, **options: seen.update(options) or stub(argument))
    assert registry.load_encoder("BMRetriever,max_length=128").name == "BMRetriever-410M"
    assert seen["query_prompt"].endswith("\nQuery: ")
    assert (seen["end"], seen["pooling"], seen["max_length"]) == ("yes", "last", "128")
    both = registry.load_encoder("medcpt")
    assert both.name == "MedCPT"
    assert both.for_use("BioASQ", "document").name == "ncbi/MedCPT-Article-Encoder"  # type: ignore[attr-defined]
    assert both.for_use("BIOSSES", "").name == "ncbi/MedCPT-Query-Encoder"  # type: ignore[attr-defined]


def stub(argument: str) -> Any:
    width = 1024 if "BMRetriever" in argument else 768
    return SimpleNamespace(name=argument, identity=argument, dimension=width, encode=lambda texts: np.ones((len(texts), width)))


@pytest.mark.parametrize("recipe", BY_HAND, ids=lambda recipe: recipe.name)
def test_absent_weights_are_asked_for_file_by_file(recipe: Recipe, models: Path) -> None:
    with pytest.raises(EncoderError) as caught:
        registry.load_encoder(recipe.name)
    message = str(caught.value)
    for alternatives in recipe.files.values():
        assert str(models / alternatives[0]) in message
    assert recipe.obtain in message
    assert recipe.source in message
    assert "MEDSENTEVAL_MODELS" in message
    assert not recipe.present


@pytest.mark.parametrize("recipe", BY_HAND, ids=lambda recipe: recipe.name)
def test_weights_in_their_place_give_a_whole_specification(recipe: Recipe, models: Path) -> None:
    put(models, recipe)
    kind, argument, options = recipe.resolve()
    assert recipe.present
    assert kind == recipe.kind
    assert options.keys() == recipe.options.keys()
    for path in argument.split("+"):
        assert Path(path).is_relative_to(models)
        assert Path(path).exists()


def test_only_what_is_missing_is_asked_for(models: Path) -> None:
    recipe = recipes()["infersent-1"]
    weights = models / "infersent-1" / "infersent1.pkl"
    weights.parent.mkdir(parents=True)
    weights.touch()
    with pytest.raises(EncoderError) as caught:
        recipe.resolve()
    assert str(weights) not in str(caught.value)
    assert "glove.840B.300d.txt (or glove.840B.300d.zip)" in str(caught.value)


def test_the_models_folder_is_in_the_cache_unless_named(models: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert models_folder() == models
    monkeypatch.delenv("MEDSENTEVAL_MODELS")
    monkeypatch.setenv("MEDSENTEVAL_CACHE", str(tmp_path / "cache"))
    assert models_folder() == tmp_path / "cache" / "models"


def test_a_recipe_loads_the_paper_s_vectors_under_its_own_name(models: Path) -> None:
    file = models / "glove-840b" / "glove.840B.300d.txt"
    file.parent.mkdir(parents=True)
    rest = " 0" * 298
    file.write_text(f"pain 1 0{rest}\nPain 0 4{rest}\nchest 3 0{rest}\n", "utf-8")
    encoder = registry.load_encoder("glove-840b")
    assert encoder.name == "glove-840b"
    # As MedSentEval did: split on blanks, case kept, so that "chest," is unknown.
    assert encoder.encode(["Pain chest", "pain chest, PAIN"])[:, :2] == pytest.approx(np.array([[1.5, 2], [1, 0]]))
    changed = registry.load_encoder("GloVe 840B,tokenizer=words,case=lower,name=mine")
    assert changed.name == "mine"
    assert changed.encode(["pain, Chest"])[:, :2] == pytest.approx(np.array([[2, 0]]))
    assert changed.identity != encoder.identity
    direct = registry.load_encoder(f"vectors:{file},tokenizer=whitespace,case=exact,pooling=mean")
    assert direct.identity == encoder.identity


def test_the_pubmed_vectors_of_bmass_are_read_from_glove_s_own_binary(models: Path) -> None:
    folder = models / "glove-pubmed"
    folder.mkdir(parents=True)
    words, size = ["pain", "chest", "the"], 200
    # Word rows, then context rows, each with its bias last.
    table = np.random.default_rng(2).normal(size=(2 * len(words), size + 1))
    (folder / "PubMed_Glove.bin").write_bytes(table.astype("<f8").tobytes())
    (folder / "PubMed_Glove_vocab").write_text("".join(f"{word} {9 - i}\n" for i, word in enumerate(words)), "utf-8")
    rows = registry.load_encoder("glove-pubmed").encode(["chest pain", "Chest"])
    assert rows == pytest.approx(np.stack([table[:2, :size].mean(axis=0), np.zeros(size)]), abs=1e-6)
    both = registry.load_encoder("glove-pubmed,rows=sum,case=lower").encode(["Chest"])
    assert both == pytest.approx(table[1:2, :size] + table[4:5, :size], abs=1e-6)


def test_weights_of_another_dimension_are_no_weights_of_the_recipe(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = models / "glove-840b" / "glove.840B.300d.txt"
    file.parent.mkdir(parents=True)
    file.write_text("pain 1 0\nchest 3 0\n", "utf-8")
    with pytest.raises(EncoderError, match=r"'glove-840b' stands for vectors of 300 numbers, and .*300d.txt gives 2"):
        registry.load_encoder("glove-840b,case=lower")
    assert registry.load_encoder(f"vectors:{file}").encode(["pain"]).shape == (1, 2)
    monkeypatch.setattr(registry, "encoder_loader", lambda kind: Loaded)
    monkeypatch.setattr(Loaded, "dimension", None)
    with pytest.raises(EncoderError, match=r"'use-large-3' stands for vectors of 512 numbers, and .* gives 2"):
        registry.load_encoder("use-large-3")
    # Who asks for other layers than the recipe's gets another width.
    assert registry.load_encoder("biobert,layer=all").name == "biobert"


class Loaded:
    """Stands in for a model from the hub: keeps what its loader was given."""

    dimension: int | None = 768

    def __init__(self, argument: str, **options: str) -> None:
        self.name, self.identity, self.argument, self.options = argument, "loaded", argument, options

    def encode(self, texts: list[str]) -> Any:
        return np.ones((len(texts), 2), dtype=np.float32)


def test_options_after_the_name_win_over_the_recipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "encoder_loader", lambda kind: Loaded if kind == "transformers" else None)
    plain: Any = registry.load_encoder("biobert")
    assert (plain.name, plain.argument) == ("biobert", "dmis-lab/biobert-v1.1")
    assert plain.options == {"layer": "last", "pooling": "mean", "specials": "no", "max_length": "128"}
    changed: Any = registry.load_encoder("biobert,max_length=256,dtype=bfloat16")
    assert changed.options == plain.options | {"max_length": "256", "dtype": "bfloat16"}
    assert changed.name == "biobert"


def test_wrong_names_and_arguments_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'biobert'"):
        registry.load_encoder("biobrt")
    with pytest.raises(EncoderError, match="'biobert' is a published encoder and takes no argument"):
        registry.load_encoder("biobert:some/path")


def run(*arguments: str) -> Any:
    return CliRunner().invoke(main, list(arguments), catch_exceptions=False)


def test_the_command_lists_kinds_and_recipes(models: Path) -> None:
    put(models, recipes()["elmo-small"])
    lines = run("encoders", "--wide").stdout.splitlines()
    first_words = [line.split()[0] for line in lines if line]
    for name in [*registry.encoder_kinds(), *recipes()]:
        assert name in first_words
    state = {line.split()[0]: line for line in lines if line}
    assert " automatic " in state["biobert"]
    assert " present " in state["elmo-small"]
    assert " by hand " in state["glove-840b"]
    assert "biosim_tables 7: 5" in state["biosim-sg"]


def test_the_command_shows_one_recipe_whole(models: Path) -> None:
    shown = run("encoders", "LTL win2").stdout
    recipe = recipes()["chiu-win2"]
    for part in (recipe.title, recipe.source, recipe.licence, recipe.obtain, "200", "ltl-win2", "case=exact-then-lower",
                 str(models / "chiu-win2" / "PubMed-shuffle-win-2.bin"), "absent", "medisim_tables: LTL win2",
                 "bmass_tables: PM-2"):  # fmt: skip
        assert part in shown
    put(models, recipe)
    assert "PubMed-shuffle-win-2.bin: present" in run("encoders", "chiu-win2").stdout
    assert "the paper used version 1.0" in run("encoders", "biobert").stdout
    assert run("encoders", "vectors").stdout.startswith("vectors: PATH")


def test_a_recipe_is_described_line_by_line(models: Path) -> None:
    rows = (
        PublishedRow("bmass_tables", "PM-2", doubt="another year", options={"case": "lower"}),
        PublishedRow("biosim_tables", "5", table="7"),
    )
    known: dict[str, Any] = {"title": "A title", "kind": "vectors", "source": "S", "licence": "L", "shown": "r"}
    plain = Recipe("r", argument="ID", dimension=None, automatic=True, **known)
    assert describe(plain).splitlines() == [
        "Recipe:     r: A title", "Stands for: vectors:ID", "Dimension:  unknown", "Weights:    fetched on first use",
        "Source:     S", "Licence:    L",
    ]  # fmt: skip
    full = Recipe(
        "r", argument="{v}", dimension=200, automatic=False, files={"v": ("a.txt", "sub/b.zip", "c.gz")}, rows=rows,
        aliases=("x", "y"), obtain="Fetch.", note="N.", options={"case": "lower"}, trained_on={"RQE": "yes", "MR": "no"},
        pooling="mean", limit="512", **(known | {"shown": "R"}),
    )  # fmt: skip
    lines = [
        "Recipe:     r: A title", "Also:       x, y", "In tables:  R", "Stands for: vectors:a.txt,case=lower",
        "Dimension:  200", "Pooling:    mean", "Limit:      512 (tokens)", "Weights:    fetched by hand",
        "Source:     S", "Licence:    L", "To get it:  Fetch.", f"File:       {models / 'a.txt'} (or b.zip) (or c.gz): absent",
        "Published:  bmass_tables: PM-2, case=lower (but: another year)", "Published:  biosim_tables 7: 5",
        "Trained on: RQE: yes; MR: no", "Note:       N.",
    ]  # fmt: skip
    assert describe(full).splitlines() == lines
    assert not full.present
    with pytest.raises(EncoderError) as caught:
        full.resolve()
    assert str(caught.value) == (
        f"the recipe 'r' has no weights yet. Missing: {models / 'a.txt'} (or b.zip) (or c.gz). How to get them: Fetch. "
        f"Source: S. (MEDSENTEVAL_MODELS can name another models folder than {models}.)"
    )
    models.mkdir()
    (models / "c.gz").touch()
    assert full.present
    assert full.resolve({"case": "exact"}) == ("vectors", str(models / "c.gz"), {"case": "exact"})
    (models / "a.txt").touch()
    assert full.resolve() == ("vectors", str(models / "a.txt"), {"case": "lower"})
    assert "absent" not in describe(full)


def test_unknown_and_absent_ones_end_the_command_with_2(tmp_path: Path) -> None:
    wrong = run("encoders", "no-such")
    assert (wrong.exit_code, "no encoder is called 'no-such'" in wrong.output) == (2, True)
    absent = run("run", "--encoder", "scibert-not", "--tasks", "RQE", "--output", str(tmp_path / "r"))
    assert absent.exit_code == 2
    absent = run("run", "--encoder", "glove-840b", "--tasks", "RQE", "--output", str(tmp_path / "r"))
    assert (absent.exit_code, "glove.840B.300d.txt" in absent.output) == (2, True)


def test_a_recipe_runs_through_the_command_line(models: Path, tmp_path: Path) -> None:
    file = models / "bionlp-pm" / "PubMed-w2v.bin"
    file.parent.mkdir(parents=True)
    words = ["the", "of", "in", "and", "a", "to", "is", "with", "that", "patient"]
    rows = np.random.default_rng(1).normal(size=(len(words), 200)).astype("<f4")
    body = b"".join(word.encode() + b" " + row.tobytes() + b"\n" for word, row in zip(words, rows, strict=True))
    file.write_bytes(f"{len(words)} 200\n".encode() + body)
    output = tmp_path / "results"
    done = run("run", "--encoder", "PubMed-w2v", "--tasks", "BIOSSES", "--output", str(output), "--quiet")
    assert done.exit_code == 0, done.output
    stored = json.loads(next(output.rglob("*.json")).read_text("utf-8"))
    assert stored["encoder"] == "bionlp-pm"


def test_no_address_is_there_that_no_source_prints() -> None:
    """Guards against invented links: each host is one that the papers or the authors' pages name."""
    known = {
        "allennlp.org", "bio.nlplab.org", "bioasq.org", "dl.fbaipublicfiles.com", "fasttext.cc",
        "flair.informatik.hu-berlin.de", "github.com", "nlp.cs.aueb.gr", "nlp.stanford.edu", "slate.cse.ohio-state.edu",
        "tfhub.dev", "arxiv.org", "homes.cs.washington.edu", "levyomer.wordpress.com",
    }  # fmt: skip
    texts = [text for recipe in RECIPES for text in (recipe.source, recipe.obtain, recipe.note, recipe.argument)]
    assert {host for text in texts for host in re.findall(r"https?://([^/\s)]+)", text)} <= known


def test_kinds_resolve_without_reading_the_recipes() -> None:
    code = (
        "import sys; from medsenteval.registry import load_encoder; load_encoder('lexical');"
        "assert 'medsenteval.encoders.recipes' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_file_says_yes_and_no_of_tasks_data_sets_and_groups(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('yes = ["rqe", "SICK"]\nno = ["MedNLI", "mteb:NFCorpus"]\n', "utf-8")
    found = read_declaration(str(tmp_path / "mine.toml"))
    assert {name for name, said in found.items() if said == "yes"} >= {"RQE", "SICKEntailment", "SICKRelatedness"}
    assert (found["MedNLI"], found["mteb:NFCorpus"]) == ("no", "no")
    encoder = registry.load_encoder(f"lexical,trained_on={tmp_path / 'mine.toml'}")
    assert encoder.trained_on == found  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"maybe": ["RQE"]}, "yes and no, and nothing else"),
        ({"yes": "RQE"}, "expected a list"),
        ({"yes": ["RQE"], "no": ["sentence"]}, "both yes and no of RQE"),
        (["RQE"], "yes and no, and nothing else"),
    ],
)
def test_a_declaration_that_can_be_misread_is_refused(table: object, said: str) -> None:
    with pytest.raises(EncoderError, match=said):
        declared_tasks(table, "mine.toml")


def test_unknown_tasks_and_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="RQEE"):
        declared_tasks({"yes": ["RQEE"]}, "mine.toml")
    with pytest.raises(EncoderError, match="cannot be read"):
        read_declaration(str(tmp_path / "absent.toml"))
    (tmp_path / "broken.toml").write_text("yes = [", "utf-8")
    with pytest.raises(EncoderError, match=r"broken\.toml"):
        read_declaration(str(tmp_path / "broken.toml"))


def test_recipes_declare_what_their_authors_trained_on() -> None:
    assert recipes()["infersent-1-mednli"].trained_on == {"MedNLI": "yes"}
    assert recipes()["biobert"].trained_on == {}
    assert "Trained on: MedNLI: yes" in describe(recipes()["infersent-1-mednli"])

"""The block of a model card is read back by the hub's own library with every value, interval and signature."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest

from medsenteval import registry
from medsenteval.errors import SettingsError
from medsenteval.interop.model_card import model_card_block
from tests.report.made_up import many_results


def test_the_hub_reads_it() -> None:
    hub = pytest.importorskip("huggingface_hub")
    results = [replace(result, encoder='my "model": 1') for result in many_results(1, 10, n_items=60)]
    read = hub.ModelCard(model_card_block(results) + "\n# My model\n").data.eval_results
    expected = [(result, metric) for result in results for metric in result.metrics]
    assert len(read) == len(expected)
    for theirs, (result, metric) in zip(read, expected, strict=True):
        assert (theirs.dataset_name, theirs.metric_value) == (result.task, metric.value)
        assert theirs.metric_args["signature"] == result.signature
        assert (theirs.metric_args["low"], theirs.metric_args["high"]) == (metric.low, metric.high)
    assert {each.metric_type for each in read} == {"accuracy", "pearsonr", "spearmanr"}
    assert {each.task_type for each in read} == {"text-classification", "sentence-similarity"}


def test_taggers_classify_tokens() -> None:
    [result] = many_results(1, 1, n_items=60)
    assert result.label_names
    assert "- task: {type: text-classification}" in model_card_block([result])
    for task in ("BC5CDR", "file:notes.tsv"):
        tagged = replace(result, task=task, protocol="window-tagger", label_names=("Chemical",))
        assert "- task: {type: token-classification}" in model_card_block([tagged])


def test_probes_have_names_of_their_own_and_cautions_are_said() -> None:
    hub = pytest.importorskip("huggingface_hub")
    one = next(result for result in many_results(1, 10, n_items=60) if result.metrics[0].name == "acc")
    results = [replace(one, probe="exact"), replace(one, probe="sklearn", coverage={"tokens": 0.3})]
    exact, other = (each for each in hub.ModelCard(model_card_block(results)).data.eval_results if "acc" in each.metric_name)
    assert exact.metric_name == f"acc, {one.protocol}, exact"
    assert other.metric_name == f"acc, {one.protocol}, sklearn"
    assert "caution" not in exact.metric_args
    assert other.metric_args["caution"] == "the encoder knows less than half of this task's words"


def test_it_is_of_one_encoder_on_real_data() -> None:
    results = many_results(2, 1, n_items=60)
    with pytest.raises(SettingsError, match="name one of encoder-00"):
        model_card_block(results)
    with pytest.raises(SettingsError, match="synthetic"):
        model_card_block([replace(results[0], synthetic=True)])
    for part in ("|limit=50|", "|incomplete|"):
        partial = replace(results[0], signature=results[0].signature.replace("|data=", f"{part}data="))
        assert partial.signature != results[0].signature
        with pytest.raises(SettingsError, match=f"{results[0].task}: scored on a part of the data"):
            model_card_block([partial])


@pytest.mark.parametrize("name", ["hf:owner/name", "mteb:NFCorpus", "file:/etc/passwd", "file:../notes.csv"])
def test_a_name_in_a_stranger_s_result_is_not_looked_for(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "own_task", lambda *_, **__: pytest.fail("the data set was looked for"))
    monkeypatch.setitem(sys.modules, "medsenteval.interop.mteb", None)  # its import fails
    assert f'name: "{name}"' in model_card_block([replace(many_results(1, 1, n_items=60)[0], task=name)])


def test_names_that_no_yaml_holds_are_shown_as_text() -> None:
    hub = pytest.importorskip("huggingface_hub")
    hostile = 'a\x1b[2J\x7f\x85\n- b: "c"\u2028---'
    [result] = many_results(1, 1, n_items=60)
    block = model_card_block([replace(result, task=hostile, encoder=hostile, signature=hostile)])
    read = hub.ModelCard(block).data.eval_results
    assert {each.dataset_name for each in read} == {r'a\x1b[2J\x7f\x85\n- b: "c"\u2028---'}


def test_letters_of_other_scripts_stay_as_they_are() -> None:
    [result] = many_results(1, 1, n_items=60)
    block = model_card_block([replace(result, encoder="β-model", signature="données|data=abc|encoder=β")])
    assert '- name: "β-model"' in block
    assert '"signature": "données|data=abc|encoder=β"' in block
    assert block.startswith("---\nmodel-index:\n")
    assert block.endswith("\n---\n")

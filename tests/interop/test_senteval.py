"""Our tasks inside upstream SentEval: the same scores from its classifiers as from ours."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from medsenteval.datasets import sample_root
from medsenteval.engine import SE
from medsenteval.errors import SettingsError, UnknownNameError
from medsenteval.interop import senteval as interop

PARAMS = {"task_path": str(sample_root()), "usepytorch": False, "kfold": 3, "seed": 1111, "classifier": {"nhid": 0}}


def letters(params: Any, batch: list[list[str]]) -> NDArray[np.float32]:
    alphabet = "abcdefghijklmnopqrstuvwxyz "
    return np.array([[" ".join(tokens).lower().count(c) for c in alphabet] for tokens in batch], dtype=np.float32) / 10


@pytest.fixture
def upstream(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a checkout of SentEval on the path; MEDSENTEVAL_SENTEVAL names it."""
    named = os.environ.get("MEDSENTEVAL_SENTEVAL")
    if not named or not (Path(named) / "senteval").is_dir():
        pytest.skip("MEDSENTEVAL_SENTEVAL names no checkout of facebookresearch/SentEval")
    monkeypatch.syspath_prepend(named)


def test_upstreams_classifiers_on_our_tasks_equal_our_engine(upstream: None) -> None:
    seen: list[str] = []

    def prepare(params: Any, samples: list[list[str]]) -> None:
        seen.append(params.current_task)

    theirs = interop.engine(PARAMS, letters, prepare)
    ours = SE(PARAMS, letters)
    names = ["PubMed20K", "MedNLI", "RQE", "CitationSA", "BIOSSES", "ClinicalSTS"]
    results = theirs.eval(names)
    assert seen == names
    for name in names:
        expected = ours.eval(name)
        for key, value in results[name].items():
            if isinstance(value, dict) and "nsamples" in value:
                assert value["pearson"][0] == pytest.approx(expected[key]["pearson"][0], abs=1e-6)
            elif not isinstance(value, dict):
                assert value == expected[key], (name, key)
    # Upstream's own names stay upstream's.
    assert theirs.eval("TREC") == {key: value for key, value in ours.eval("TREC").items() if not key.startswith("n_")}


def test_what_upstream_cannot_run_is_said(upstream: None) -> None:
    with pytest.raises(SettingsError, match="no protocol for 'relatedness'"):
        interop.engine(PARAMS, letters).eval("stsb")
    with pytest.raises(UnknownNameError):
        interop.engine(PARAMS, letters).eval("NoTask")


def test_a_missing_upstream_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "senteval.engine", None)
    monkeypatch.setitem(sys.modules, "senteval", None)
    with pytest.raises(SettingsError, match="put a clone of facebookresearch/SentEval"):
        interop.engine(PARAMS, letters)

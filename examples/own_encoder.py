"""Evaluate an encoder of your own: here TF-IDF over the task's texts, reduced by a truncated SVD.

python examples/own_encoder.py [DATA]
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

import medsenteval


class TfidfEncoder:
    """An encoder that learns from the task's texts: ``prepare`` sees them all before ``encode`` is called."""

    name = "tfidf-svd"
    identity = ""  # it depends on the task's texts, so nothing of it may be cached

    def prepare(self, texts: Sequence[str]) -> None:
        self.model = make_pipeline(TfidfVectorizer(sublinear_tf=True), TruncatedSVD(64, random_state=0)).fit(texts)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.asarray(self.model.transform(texts), dtype=np.float32)


if __name__ == "__main__":
    data = sys.argv[1] if len(sys.argv) > 1 else None
    print(medsenteval.evaluate(TfidfEncoder(), tasks="MedNLI,BioASQ,ClinicalSTS,BIOSSES", data=data))

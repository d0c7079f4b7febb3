"""Print what SapBERT's own evaluation gives on the made-up fixture; the numbers are kept in test_mention_linking.py.

    python -m tests.tasks.concepts.record_sapbert CHECKOUT        a clone of github.com/cambridgeltl/sapbert

Its ``predict_topk``, ``predict_topk_fast`` and ``evaluate_topk_acc`` run unchanged, on vectors of our lexical
encoder; its numpy ranking stands in for the one on a GPU.
"""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

FIXTURES = Path(__file__).parent / "fixtures"


def main(checkout: str) -> None:
    # Only its training code needs this package.
    sys.modules["pytorch_metric_learning"] = types.SimpleNamespace(miners=None, losses=None, distances=None)  # type: ignore[assignment]
    sys.path[:0] = [checkout, f"{checkout}/evaluation"]
    from src.data_loader import DictionaryDataset, QueryDataset, QueryDataset_COMETA  # type: ignore[import-not-found]
    from src.model_wrapper import Model_Wrapper  # type: ignore[import-not-found]
    from utils import evaluate  # type: ignore[import-not-found]

    from medsenteval.encoders.lexical import LexicalEncoder

    lexical = LexicalEncoder()

    class Wrapper(Model_Wrapper):  # type: ignore[misc]
        encoder = tokenizer = lexical

        def __init__(self) -> None:
            pass

        def embed_dense(self, names: Any, **options: Any) -> Any:
            return lexical.encode(list(names))

        def retrieve_candidate_cuda(self, score_matrix: Any, topk: int, **options: Any) -> Any:
            return self.retrieve_candidate(score_matrix, topk)

    corpus = FIXTURES / "ncbi-disease"
    for dictionary in ("test", "dev", "train"):
        names = DictionaryDataset(str(corpus / f"{dictionary}_dictionary.txt")).data
        for once in (False, True):
            queries = QueryDataset(str(corpus / "processed_test"), filter_duplicate=once).data
            _show(f"{dictionary}_dictionary, duplicates {once}", evaluate(Wrapper(), names, queries, 5), len(queries))
    names = DictionaryDataset(str(FIXTURES / "cometa" / "COMETA_id_sf_dictionary.txt")).data
    queries = QueryDataset_COMETA(str(FIXTURES / "cometa/splits/stratified_general/test.csv")).data
    _show("COMETA", evaluate(Wrapper(), names, queries, 5, cometa=True), len(queries))


def _show(title: str, found: dict[str, Any], n: int) -> None:
    print(f"{title}: {n} queries, acc@1 {round(found['acc1'] * n)}, acc@5 {round(found['acc5'] * n)}")


if __name__ == "__main__":
    main(sys.argv[1])

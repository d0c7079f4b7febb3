"""STS12 to STS16: cosines against judged similarity, subset by subset."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from medsenteval.contracts import Dataset, Task
from medsenteval.tasks.general.source import downstream
from medsenteval.tasks.reading.builder import DatasetBuilder
from medsenteval.tasks.reading.layouts import read_sts_folder
from medsenteval.tasks.similarity_subsets import evaluate_similarity_by_subset

__all__ = ["STS12", "STS13", "STS14", "STS15", "STS16"]


def _make_task(name: str, counts: Mapping[str, int], citation: str) -> Task:
    """Make a task of subsets; ``counts`` has the scored pairs of each, in SentEval's order."""

    def read(folder: Path, options: Mapping[str, str]) -> Dataset:
        builder = DatasetBuilder(name, folder, pairs=True)
        for subset in counts:
            read_sts_folder(builder, subset, subset)
        return builder.build()

    return Task(
        name=name,
        family="similarity",
        protocol="cosine",
        uses_probe=False,
        metrics=("pearson", "spearman"),
        read=read,
        evaluate=evaluate_similarity_by_subset,
        published_counts=counts,
        citation=citation,
        **downstream(f"STS/{name}-en-test"),
    )


STS12 = _make_task(
    "STS12",
    {"MSRpar": 750, "MSRvid": 750, "SMTeuroparl": 459, "surprise.OnWN": 750, "surprise.SMTnews": 399},
    "Agirre et al. 2012, SemEval-2012 Task 6: A Pilot on Semantic Textual Similarity",
)
# The subset SMT is left out as in SentEval, because its sentences are not free.
STS13 = _make_task(
    "STS13",
    {"FNWN": 189, "headlines": 750, "OnWN": 561},
    "Agirre et al. 2013, *SEM 2013 Shared Task: Semantic Textual Similarity",
)
STS14 = _make_task(
    "STS14",
    {"deft-forum": 450, "deft-news": 300, "headlines": 750, "images": 750, "OnWN": 750, "tweet-news": 750},
    "Agirre et al. 2014, SemEval-2014 Task 10: Multilingual Semantic Textual Similarity",
)
STS15 = _make_task(
    "STS15",
    {"answers-forums": 375, "answers-students": 750, "belief": 375, "headlines": 750, "images": 750},
    "Agirre et al. 2015, SemEval-2015 Task 2: Semantic Textual Similarity",
)
STS16 = _make_task(
    "STS16",
    {"answer-answer": 254, "headlines": 249, "plagiarism": 230, "postediting": 244, "question-question": 209},
    "Agirre et al. 2016, SemEval-2016 Task 1: Semantic Textual Similarity",
)

"""The window tagger on AnatEM: seconds for three runs of 20 epochs, and F1 beside random vectors and a dictionary.

Then one epoch of one run beside the same tagger written plainly in torch, on the same tokens.

    python benchmarks/ner.py --data FOLDER --vectors glove.6B.100d.txt            # about two minutes on two cores
    python benchmarks/ner.py --data FOLDER --vectors glove.6B.100d.txt --tuned    # also with tuned vectors: five minutes more
    python benchmarks/ner.py --small                                              # the bundled sample, a few seconds
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from medsenteval.contracts import Embeddings, Scores
from medsenteval.datasets.locate import load_dataset, sample_root
from medsenteval.embedding.embed import embed_texts
from medsenteval.registry import load_encoder, task
from medsenteval.settings import Settings
from medsenteval.support.text_table import text_table
from medsenteval.tasks.ner.corpus import TaggedDataset
from medsenteval.tasks.ner.tagging_evaluation import PADDING, WordTable
from medsenteval.words.tagging.window_tagger import TaggerSettings, WindowTagger, windows_of


def random_like(embeddings: Embeddings) -> Embeddings:
    """Replace every known word's vector by a random one of the same mean square."""
    known = ~embeddings.zero_rows
    scale = float(np.sqrt(np.mean(np.square(embeddings.matrix[known]))))
    matrix = np.random.default_rng(0).normal(0, scale, embeddings.matrix.shape).astype(np.float32)
    matrix[~known] = 0
    return Embeddings(matrix, embeddings.row_of)


def scored(corpus: str, root: Path, embeddings: Embeddings, options: dict[str, str]) -> tuple[Scores, float]:
    found = task(corpus)
    settings = Settings(task_options={corpus: options})
    dataset = load_dataset(found, root, settings)
    started = time.perf_counter()
    scores = found.evaluate(found, dataset, embeddings, settings)
    return scores, time.perf_counter() - started


def row(name: str, options: dict[str, str], scores: Scores, seconds: float) -> list[str]:
    f1 = scores.metric("f1")
    runs = " ".join(f"{value:.2f}" for value in scores.details["runs"]["f1"])
    chosen = scores.details["tagger"]
    how = f"{options.get('preset', 'paper')}, {'tuned' if chosen['tuned'] else 'frozen'}"
    return [name, how, f"{seconds:.1f}", f"{f1.value:.2f}", f"[{f1.low:.2f}, {f1.high:.2f}]", runs]


def torch_seconds(table: np.ndarray, windows: np.ndarray, tags: np.ndarray, n_tags: int, settings: TaggerSettings) -> float:
    """Train one epoch with torch's own layers and optimiser."""
    import torch

    torch.manual_seed(0)
    torch.set_num_threads(1)
    vectors, rows, targets = (torch.from_numpy(array) for array in (table, windows, tags.astype(np.int64)))
    model = torch.nn.Sequential(
        torch.nn.Linear(settings.window * table.shape[1], settings.hidden),
        torch.nn.Hardtanh(),
        torch.nn.Dropout(settings.dropout),
        torch.nn.Linear(settings.hidden, n_tags),
    )
    optimiser = torch.optim.SGD(model.parameters(), lr=settings.learning_rate)
    started = time.perf_counter()
    for batch in torch.randperm(len(targets)).split(settings.batch_size):
        loss = torch.nn.functional.cross_entropy(model(vectors[rows[batch]].flatten(1)), targets[batch])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder that holds the corpus")
    parser.add_argument("--corpus", default="AnatEM")
    parser.add_argument("--vectors", help="word vectors; without them, the embedded encoder")
    parser.add_argument("--tuned", action="store_true", help="also tune the vectors, in both presets")
    parser.add_argument("--no-frozen", action="store_true", help="leave the frozen vectors out")
    parser.add_argument("--small", action="store_true", help="the bundled sample and vectors of 32 coordinates")
    options = parser.parse_args()
    root = sample_root() if options.small or options.data is None else options.data
    spec = "lexical,dimension=32" if options.small else "lexical"
    encoder = load_encoder(f"vectors:{options.vectors},tokenizer=whitespace" if options.vectors else spec)
    dataset = load_dataset(task(options.corpus), root, Settings())
    assert isinstance(dataset, TaggedDataset)
    embeddings = embed_texts(encoder, list(dataset.all_texts()), batch_size=128, task_name=options.corpus)
    choices: list[dict[str, str]] = [] if options.no_frozen else [{}]
    if options.tuned:
        choices += [{"vectors": "tuned"}, {"preset": "repo"}]
    rows = []
    for chosen in choices:
        for name, vectors in ((encoder.name, embeddings), ("random vectors", random_like(embeddings))):
            if chosen and vectors is not embeddings:
                continue
            scores, seconds = scored(options.corpus, root, vectors, chosen)
            rows.append(row(name, chosen, scores, seconds))
    tokens = sum(len(split.all_tokens) for split in dataset.splits.values())
    print(f"{options.corpus}: {tokens:,} tokens, {scores.n_train:,} sentences to train on and {scores.n_test:,} to test")
    rows.append(["dictionary", "most frequent tag", "", f"{scores.details['dictionary_f1']:.2f}", "", ""])
    rows.append(["all O", "majority tag", "", "0.00", "", ""])
    header = ["Vectors", "Preset", "Seconds, three runs", "F1", "95 % interval", "Runs"]
    print(text_table(header, rows, [False, False, True, True, True, False]))

    train = dataset.splits["train"]
    table = WordTable.of((word for split in dataset.splits.values() for word in split.all_tokens), embeddings, scale="raw")
    windows = windows_of(table.rows(train.all_tokens), train.offsets, 5, PADDING)
    settings = TaggerSettings(epochs=1)
    n_tags = 1 + 4 * len(dataset.label_names)
    ours, theirs = [], []
    with threadpool_limits(1, user_api="blas"):
        for _ in range(2):  # interleaved, so that a busy moment of the machine hits both
            tagger = WindowTagger(settings, table.vectors, n_tags, np.random.default_rng(0))
            started = time.perf_counter()
            tagger.fit([windows], train.all_tags)
            ours.append(time.perf_counter() - started)
            theirs.append(torch_seconds(table.vectors, windows, train.all_tags, n_tags, settings))
    print(
        f"\none epoch of one run on one core, frozen: {min(ours):.2f} s; "
        f"in torch {min(theirs):.2f} s, {min(theirs) / min(ours):.1f} times as long"
    )


if __name__ == "__main__":
    main()

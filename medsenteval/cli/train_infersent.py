"""``medsenteval train-infersent``: train InferSent on MedNLI."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click
import numpy as np

from medsenteval import registry
from medsenteval.cli.shared import SEED, echo
from medsenteval.datasets.locate import data_root, locate
from medsenteval.encoders.contextual import infersent_training
from medsenteval.encoders.contextual.infersent import BOUNDARIES, VERSIONS, Reading
from medsenteval.encoders.contextual.infersent_training import InferSentTraining
from medsenteval.encoders.static.tokens import CASES, TOKENIZERS
from medsenteval.encoders.static.vector_formats import FileOptions


@click.command("train-infersent")
@click.option("-d", "--data", metavar="FOLDER",
              help="The folder MedNLI, or the one it is in; default MEDSENTEVAL_DATA, then the bundled sample.")  # fmt: skip
@click.option("--vectors", required=True, metavar="FILE", help="Word vectors: GloVe 840B, fastText crawl-300d-2M, ...")
@click.option("-o", "--output", default="encoder.pkl", show_default=True, metavar="FILE", help="Where the encoder is written.")
@click.option("--epochs", default=20, show_default=True, metavar="N", help="Passes over the training pairs at most")
@click.option("--hidden", default=2048, show_default=True, metavar="N", help="LSTM units per direction, half of a vector.")
@click.option("--version", default="1", show_default=True, type=click.Choice(list(VERSIONS)),
              help="Boundary words of a sentence: 1 for <s> </s>, 2 for <p> </p>")  # fmt: skip
@click.option("--boundaries", default="required", show_default=True, type=click.Choice(BOUNDARIES),
              help="if-known does without boundary words that the vectors lack.")  # fmt: skip
@click.option("--tokenizer", default="words", show_default=True, type=click.Choice(list(TOKENIZERS)))
@click.option("--case", default="exact", show_default=True, type=click.Choice(CASES))
@click.option("--seed", type=SEED, default=1234, show_default=True, metavar="N")
@click.option("--batch-size", default=64, show_default=True, metavar="N")
@click.option("--learning-rate", default=0.1, show_default=True, metavar="X")
@click.option("--device", default="auto", show_default=True, metavar="NAME", help="auto, cpu or cuda")
@click.option("--layout", default="", metavar="NAME", help="blocks or adjacent: the vectors are GloVe's own binary.")
@click.option("--vocab", default="", metavar="FILE", help="The vocab.txt of GloVe's own binary.")
@click.option("--quiet", is_flag=True, help="Print the result only.")
def train_infersent(
    data: str | None,
    vectors: str,
    output: str,
    version: str,
    tokenizer: str,
    case: str,
    boundaries: str,
    layout: str,
    vocab: str,
    quiet: bool,
    **options: Any,
) -> None:
    """Train InferSent on MedNLI, or on other inference data in its format, for use as infersent:ENCODER.pkl+VECTORS."""
    reading, file_options = Reading(version, tokenizer, case, boundaries), FileOptions(layout=layout, vocab=vocab)
    settings = InferSentTraining(reading=reading, **options)
    task = registry.task("MedNLI")
    dataset = task.read(locate(task, data_root(data)), {})
    if dataset.rejected:
        echo(f"Note: {len(dataset.rejected)} row(s) rejected; the first: {dataset.rejected[0]}", err=True)
    train, dev, highest = dataset.splits["train"], dataset.splits["dev"], 0.0
    for done in infersent_training.train_infersent(
        train, dev, vectors, output, settings, file_options=file_options, progress=not quiet
    ):
        highest = max(highest, done.dev_accuracy)
        learning = f"pass {done.number}: learning rate {done.learning_rate:.2g}, loss {done.loss:.3f}"
        best = " (best so far, written)" if done.best else ""
        if not quiet:
            echo(f"{learning}, train {done.train_accuracy:.1f} %, dev {done.dev_accuracy:.1f} %{best}", err=True)
    baseline = 100 * np.bincount(np.asarray(dev.labels)).max() / len(dev)
    echo(f"dev accuracy {highest:.2f} %, {baseline:.2f} % for the largest class alone")
    chosen = {**asdict(reading), "layout": layout, "vocab": vocab}
    usual = {**asdict(Reading()), "layout": "", "vocab": ""}
    spec = "".join(f",{name}={value}" for name, value in chosen.items() if value != usual[name])
    echo(f"{output} written; use it as infersent:{output}+{vectors}{spec}")

"""``medsenteval train-infersent``: train InferSent on MedNLI."""

from __future__ import annotations

from typing import Any

import click
import numpy as np

from medsenteval import registry
from medsenteval.cli.shared import SEED, echo
from medsenteval.datasets.locate import data_root, locate
from medsenteval.encoders.contextual import infersent_training
from medsenteval.encoders.contextual.infersent import VERSIONS, Reading
from medsenteval.encoders.contextual.infersent_training import InferSentTraining


@click.command("train-infersent")
@click.option("-d", "--data", metavar="FOLDER",
              help="The folder MedNLI, or the one it is in; default MEDSENTEVAL_DATA, then the bundled sample.")  # fmt: skip
@click.option("--vectors", required=True, metavar="FILE", help="Word vectors: GloVe 840B, fastText crawl-300d-2M, ...")
@click.option("-o", "--output", default="encoder.pkl", show_default=True, metavar="FILE", help="Where the encoder is written.")
@click.option("--epochs", default=20, show_default=True, metavar="N", help="Passes over the training pairs at most")
@click.option("--hidden", default=2048, show_default=True, metavar="N", help="LSTM units per direction, half of a vector.")
@click.option("--version", default="1", show_default=True, type=click.Choice(list(VERSIONS)),
              help="Boundary words of a sentence: 1 for <s> </s>, 2 for <p> </p>")  # fmt: skip
@click.option("--seed", type=SEED, default=1234, show_default=True, metavar="N")
@click.option("--batch-size", default=64, show_default=True, metavar="N")
@click.option("--device", default="auto", show_default=True, metavar="NAME", help="auto, cpu or cuda")
@click.option("--quiet", is_flag=True, help="Print the result only.")
def train_infersent(data: str | None, vectors: str, output: str, version: str, quiet: bool, **options: Any) -> None:
    """Train InferSent on MedNLI, or on other inference data in its format, for use as infersent:ENCODER.pkl+VECTORS."""
    settings = InferSentTraining(reading=Reading(version=version), **options)
    task = registry.task("MedNLI")
    dataset = task.read(locate(task, data_root(data)), {})
    if dataset.rejected:
        echo(f"Note: {len(dataset.rejected)} row(s) rejected; the first: {dataset.rejected[0]}", err=True)
    train, dev, highest = dataset.splits["train"], dataset.splits["dev"], 0.0
    for done in infersent_training.train_infersent(train, dev, vectors, output, settings, progress=not quiet):
        highest = max(highest, done.dev_accuracy)
        learning = f"pass {done.number}: learning rate {done.learning_rate:.2g}, loss {done.loss:.3f}"
        best = " (best so far, written)" if done.best else ""
        if not quiet:
            echo(f"{learning}, train {done.train_accuracy:.1f} %, dev {done.dev_accuracy:.1f} %{best}", err=True)
    baseline = 100 * np.bincount(np.asarray(dev.labels)).max() / len(dev)
    echo(f"dev accuracy {highest:.2f} %, {baseline:.2f} % for the largest class alone")
    spec = f",version={version}" if version != Reading().version else ""
    echo(f"{output} written; use it as infersent:{output}+{vectors}{spec}")

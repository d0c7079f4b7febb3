"""What an evaluation costs beside the encoder itself, in fresh processes, imports and loading included.

    python benchmarks/encoding.py --model FOLDER --data FOLDER [--sentences 10000] [--limit N] [--repeat 1]

Printed are seconds on the clock and of all cores together, and the ratio of either to the plain call on the same texts in the
same run. On a machine that others use, seconds of cores say more. ``--limit`` takes so many rows of each split only, and
``--sentences 0`` leaves out all but the first three:

    plain        SentenceTransformer(FOLDER).encode(distinct texts, sorted by the library), threads as found
    run          `medsenteval run` on RQE and BIOSSES with an empty cache
    cached       the same command again with the vectors cached and no result stored
    sentences    ours against the plain call on so many sentences of real length, and a user's function through ours
    threads      our adapter on 1, 2, 4 and 8 cores, where there are so many
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

#: Each runs in a process of its own and is timed from outside. TEXTS is a file with one text a line.
TEXTS = """
import json, sys
from medsenteval import registry
from medsenteval.datasets.locate import data_root, load_dataset
from medsenteval.settings import Settings
texts = set()
limit = int(sys.argv[4]) or None
for name in ("RQE", "BIOSSES"):
    texts.update(load_dataset(registry.task(name), data_root(sys.argv[1]), Settings(limit=limit)).all_texts())
texts = sorted(texts)
wanted = int(sys.argv[3])
if wanted:
    texts = [f"{texts[i % len(texts)]} {i // len(texts) or ''}".strip() for i in range(wanted)]
json.dump(texts, open(sys.argv[2], "w"))
"""
PLAIN = """
import json, sys
from sentence_transformers import SentenceTransformer
SentenceTransformer(sys.argv[1], device="cpu").encode(json.load(open(sys.argv[2])), show_progress_bar=False)
"""
OURS = """
import json, sys
from medsenteval.embedding.embed import embed_texts
from medsenteval.registry import load_encoder
from medsenteval.support.cores import limit_cores
limit_cores(int(sys.argv[3]))
embed_texts(load_encoder("sentence-transformers:" + sys.argv[1]), json.load(open(sys.argv[2])), batch_size=128, task_name="T")
"""
FUNCTION = """
import json, sys
from sentence_transformers import SentenceTransformer
from medsenteval.embedding.embed import embed_texts
from medsenteval.encoders.adapt import as_encoder
model = SentenceTransformer(sys.argv[1], device="cpu")
function = as_encoder(lambda texts: model.encode(texts, batch_size=len(texts), show_progress_bar=False))
embed_texts(function, json.load(open(sys.argv[2])), batch_size=32, task_name="T")
"""


def seconds(*command: str, **environment: str) -> tuple[float, float]:
    """Run a Python program in a new process and return how long it took, by the clock and by the cores."""
    started, before = time.perf_counter(), os.times()
    done = subprocess.run(
        [sys.executable, *command], env={**os.environ, "USE_TF": "0", **environment}, capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    after = os.times()
    cores = after.children_user + after.children_system - before.children_user - before.children_system
    return time.perf_counter() - started, cores


def show(what: str, taken: tuple[float, float], plain: tuple[float, float] | None) -> None:
    columns = [
        f"{each:>8.1f} s" + (" " * 8 if plain is None else f"  {each / plain[place]:>6.2f}") for place, each in enumerate(taken)
    ]
    print(f"{what:<44}" + "  ".join(columns), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("--sentences", type=int, default=10_000)
    parser.add_argument("--limit", type=int, default=0)
    parser.add_argument("--repeat", type=int, default=1)
    given = parser.parse_args()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for _ in range(given.repeat):
        with tempfile.TemporaryDirectory() as folder:
            own, many = (str(Path(folder) / name) for name in ("own.json", "many.json"))
            seconds("-c", TEXTS, given.data, own, "0", str(given.limit))
            seconds("-c", TEXTS, given.data, many, str(given.sentences), "0")
            run = ["-m", "medsenteval", "run", "-e", f"sentence-transformers:{given.model}", "-t", "RQE,BIOSSES"]
            run += ["--data", given.data, "--quiet"] + (["--limit", str(given.limit)] if given.limit else []) + ["-o"]
            cache = {"MEDSENTEVAL_CACHE": str(Path(folder) / "cache")}
            plain = seconds("-c", PLAIN, given.model, own)
            show("plain: load, encode RQE + BIOSSES", plain, None)
            show("run: the whole command, nothing cached", seconds(*run, str(Path(folder) / "first"), **cache), plain)
            show("cached: the whole command again", seconds(*run, str(Path(folder) / "second"), **cache), plain)
            if not given.sentences:
                continue
            plain = seconds("-c", PLAIN, given.model, many)
            show(f"plain: {given.sentences:,} sentences", plain, None)
            for threads in [each for each in (1, 2, 4, 8) if each <= cores]:
                show(f"ours: the same on {threads} core(s)", seconds("-c", OURS, given.model, many, str(threads)), plain)
            show("a user's function, threads as found", seconds("-c", FUNCTION, given.model, many), plain)


if __name__ == "__main__":
    main()

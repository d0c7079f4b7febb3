"""Run the originals on a CPU and record their scores: the provenance of ``fixtures/senteval_upstream.json``.

    python -m tests.tasks.record_upstream SENTEVAL MEDSENTEVAL REALDATA sklearn|torch|mlp [TASK ...]

SENTEVAL and MEDSENTEVAL are checkouts of facebookresearch/SentEval and nstawfik/MedSentEval. They are copied and patched where
current versions of Python, NumPy and torch need it, and where they call for a GPU; each task runs in a process of its own, and
its scores are merged into the fixture.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.tasks.parity import hashed_words, lay_out_biomedical, lay_out_general, lay_out_sample

FIXTURE = Path(__file__).parent / "fixtures" / "senteval_upstream.json"
GENERAL = (
    "MR", "CR", "SUBJ", "MPQA", "SST2", "SST5", "TREC", "MRPC", "SNLI", "SICKEntailment", "SICKRelatedness", "STSBenchmark",
    "STS12", "STS13", "STS14", "STS15", "STS16",
)  # fmt: skip
BIOMEDICAL = ("RQE", "BIOSSES", "MedNLI", "BioASQ", "BioC")
#: Nested folds of the torch loop take minutes, so it gets two of them.
MODES: dict[str, dict[str, Any]] = {
    "sklearn": {"usepytorch": False, "kfold": 5, "classifier": {"nhid": 0}},
    "torch": {"usepytorch": True, "kfold": 2, "classifier": {"nhid": 0}},
    "mlp": {"usepytorch": True, "kfold": 2, "classifier": {"nhid": 50, "dropout": 0.1, "optim": "rmsprop", "tenacity": 3}},
}
PATCHES = {
    "sts.py": [("for s in sent1])", "for s in sent1], dtype=object)"), ("for s in sent2])", "for s in sent2], dtype=object)")],
    "utils.py": [("inspect.getargspec", "inspect.getfullargspec")],
    "tools/relatedness.py": [(".cuda()", ""), ("assert torch.cuda.is_available(), 'torch.cuda required for Relatedness'", "")],
    "tools/classifier.py": [
        (".cuda()", ""),
        ("torch.device('cuda')", "torch.device('cpu')"),
        ("torch.cuda.FloatTensor", "torch.FloatTensor"),
        # SNLI hands over lists.
        ("torch.from_numpy(trainy)", "torch.from_numpy(np.array(trainy))"),
        ("torch.from_numpy(devy)", "torch.from_numpy(np.array(devy))"),
    ],
}


def patched(checkout: Path, folder: Path) -> Path:
    """Copy a checkout's package and patch it."""
    shutil.copytree(checkout / "senteval", folder / "senteval")
    for name, changes in PATCHES.items():
        path = folder / "senteval" / name
        text = path.read_text("utf-8")
        for old, new in changes:
            text = text.replace(old, new)
        path.write_text(text, "utf-8")
    return folder


def run_one(package: str, data: str, params: str, name: str, answer: str) -> None:
    """Score one task with the package in this process and write its dictionary."""
    sys.path.insert(0, package)
    from senteval.engine import SE  # type: ignore[import-not-found]

    result = SE({"task_path": data, "seed": 1111, "batch_size": 128, **json.loads(params)}, hashed_words()).eval(name)
    result.pop("yhat", None)
    Path(answer).write_text(json.dumps(result, default=float), "utf-8")


def main(senteval: str, medsenteval: str, realdata: str, mode: str, *names: str) -> None:
    with tempfile.TemporaryDirectory() as place:
        root, real = Path(place), Path(realdata)
        packages = {
            GENERAL: patched(Path(senteval), root / "senteval"),
            BIOMEDICAL: patched(Path(medsenteval), root / "medsenteval"),
        }
        data = lay_out_biomedical(real, lay_out_sample(lay_out_general(real, root / "data")))
        for tasks, package in packages.items():
            for name in tasks:
                if not names or name in names:
                    answer = root / "answer.json"
                    arguments = ["--one", str(package), str(data), json.dumps(MODES[mode]), name, str(answer)]
                    command = [sys.executable, "-W", "ignore", "-m", "tests.tasks.record_upstream", *arguments]
                    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
                    fixture = json.loads(FIXTURE.read_text("utf-8"))
                    entry = fixture["modes"].setdefault(mode, {"params": MODES[mode], "results": {}})
                    entry["results"][name] = json.loads(answer.read_text("utf-8"))
                    FIXTURE.write_text(json.dumps(fixture, indent=1, ensure_ascii=False) + "\n", "utf-8")
                    print(name, entry["results"][name], flush=True)


if __name__ == "__main__":
    run_one(*sys.argv[2:]) if sys.argv[1:2] == ["--one"] else main(*sys.argv[1:])

"""Examining the installation and the data folder: versions, optional parts, which tasks can be run, where things are kept."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Final

from medsenteval import __version__
from medsenteval.contracts import Task
from medsenteval.datasets.locate import load_dataset
from medsenteval.doctor.findings import Finding
from medsenteval.embedding.cache import EmbeddingCache
from medsenteval.errors import DataMissingError, MedSentEvalError
from medsenteval.settings import Settings
from medsenteval.support.cores import available_cores

#: Extra -> the package that tells whether it is there, and what it is for.
_EXTRAS: Final = {
    "torch": ("torch", "the probes senteval and mlp"),
    "transformers": ("transformers", "BERT, BioBERT, SciBERT, GPT and sentence-transformers"),
    "elmo": ("h5py", "ELMo"),
    "use": ("tensorflow", "the Universal Sentence Encoder"),
    "endpoint": ("httpx", "OpenAI-compatible embeddings servers"),
    "dask": ("distributed", "clusters"),
    "mteb": ("mteb", "mteb's models and tasks"),
    "report": ("matplotlib", "figures as PNG or PDF"),
}
_FEW_FREE_BYTES: Final = 2e9


def examine_installation() -> list[Finding]:
    """Return what was found of Python, packages, the processor and the cache folder."""
    here = f"{__version__} on Python {platform.python_version()}, {sys.platform}, {platform.machine()}"
    cores = f"{available_cores()} core(s) to use of {os.cpu_count()}"
    found = [Finding("medsenteval", "ok", here), Finding("processor", "ok", cores)]
    return [*found, *_required(), *_optional(), _cache_folder()]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _required() -> list[Finding]:
    from packaging.requirements import Requirement

    try:
        stated = requires("medsenteval") or []
    except PackageNotFoundError:
        advice = "pip install . in its folder, so that its requirements are installed too"
        return [Finding("packages", "problem", "medsenteval itself is not installed, it only lies in the path", advice)]
    wrong = []
    core = [r for r in map(Requirement, stated) if r.marker is None or r.marker.evaluate({"extra": ""})]
    for requirement in core:
        found = _version(requirement.name)
        if not found:
            wrong.append(f"{requirement.name} is missing")
        elif not requirement.specifier.contains(found, prereleases=True):
            wrong.append(f"{requirement.name} is {found}, needed {requirement.specifier}")
    if wrong:
        return [Finding("packages", "problem", "; ".join(wrong), "pip install --upgrade medsenteval")]
    listed = ", ".join(f"{requirement.name} {_version(requirement.name)}" for requirement in core)
    return [Finding("packages", "ok", listed)]


def _optional() -> list[Finding]:
    findings = []
    for extra, (package, purpose) in _EXTRAS.items():
        found = _version(package) or (_version("tensorflow-cpu") if package == "tensorflow" else "")
        if found:
            findings.append(Finding(f"[{extra}]", "ok", f"{package} {found}: {purpose}"))
        else:
            advice = f"only if you need it: pip install 'medsenteval[{extra}]'"
            findings.append(Finding(f"[{extra}]", "note", f"not installed: {purpose}", advice))
    return findings


def _cache_folder() -> Finding:
    folder = EmbeddingCache().folder
    place = next(parent for parent in (folder, *folder.parents) if parent.exists())
    try:
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:
        advice = "set MEDSENTEVAL_CACHE to a folder that can, or run with --no-cache"
        return Finding("cache", "problem", f"{folder} cannot be written: {error.strerror or error}", advice)
    free = shutil.disk_usage(place).free
    used = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    found = f"{folder}: {used / 1e6:,.0f} MB used, {free / 1e9:,.1f} GB free"
    if free < _FEW_FREE_BYTES:
        return Finding("cache", "problem", found, "free some space: `medsenteval cache prune`, or set MEDSENTEVAL_CACHE")
    return Finding("cache", "ok", found)


def examine_data(tasks: Sequence[Task], root: Path) -> list[Finding]:
    """Read every task's data set and return what was found."""
    findings, absent = [Finding("data folder", "ok", str(root))], []
    for task in tasks:
        try:
            dataset = load_dataset(task, root, Settings())
        except DataMissingError:
            absent.append(task.name)
            continue
        except MedSentEvalError as error:
            advice = f"`medsenteval tasks {task.name}` says what it should be"
            findings.append(Finding(task.name, "problem", str(error), advice))
            continue
        counts = ", ".join(f"{name} {len(split):,}" for name, split in dataset.splits.items())
        origin = "synthetic sample, " if dataset.synthetic else ""
        said = "; ".join(dataset.notes)
        findings.append(Finding(task.name, "note" if said else "ok", f"{origin}{counts}{': ' + said if said else ''}"))
    if absent:
        advice = "`medsenteval tasks NAME` says how to get the data; a run leaves these tasks out and says so"
        findings.append(Finding("absent", "note", ", ".join(absent), advice))
    return findings

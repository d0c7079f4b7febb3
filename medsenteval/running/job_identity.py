"""Which results belong to which encoder and job: one counts for each job, and encoders of one name stay apart.

A job is one encoder on one task under one protocol with one seed. Versions of libraries are no part of it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from medsenteval.contracts import MARK_NOTES, Result
from medsenteval.support.grouping import grouped


def comparability(result: Result) -> str:
    """Return the part of a signature that must be equal for two scores to be comparable: all but encoder, seed and versions."""
    before = result.signature.partition("|encoder=")[0]
    return re.sub(r"\|seed=\d+", "", before)


def what_differs(result: Result, others: Sequence[Result]) -> list[str]:
    """Return the parts of what makes a score comparable that not all of the others share: protocol, probe, options, data."""
    common = set.intersection(*(set(comparability(other).split("|")) for other in others))
    return [part for part in comparability(result).split("|") if part not in common]


def what_tells_apart(result: Result, others: Sequence[Result]) -> list[str]:
    """Return what a label must say beside the encoder among results of one task: ``what_differs``, and the seed if it does."""
    several_seeds = len({other.seed for other in others}) > 1
    return [*what_differs(result, others), *([f"seed={result.seed}"] if several_seeds else [])]


def joined_marks(results: Sequence[Result]) -> str:
    """Return the marks that any of the results has."""
    return "".join(mark for mark in MARK_NOTES if any(mark in result.marks for result in results))


def training_note(declared: Iterable[str]) -> str:
    """Say of how many scores it is declared whether the encoder was trained on the task's data; unknown is not clean."""
    counts = Counter(declared)
    return (
        f"Trained on the task's data: {counts['yes']} score(s) yes, {counts['no']} no, "
        f"{counts['unknown']} unknown, which does not mean no"
    )


def one_for_each_job(results: Sequence[Result]) -> tuple[list[Result], list[str]]:
    """Return the newest result of each job, its encoder under a name that no other encoder has, and what was left out."""
    named, notes = told_apart(results)
    jobs = grouped(((result.encoder, result.task, comparability(result), result.seed), result) for result in named)
    kept = []
    for (label, task, _, seed), found in jobs.items():
        *others, newest = sorted(found, key=lambda result: result.made)
        kept.append(newest)
        for other in others:
            differing = [name for name in newest.versions if newest.versions[name] != other.versions.get(name)]
            said = ", ".join(f"{name} {other.versions.get(name)} (now {newest.versions[name]})" for name in differing)
            notes.append(
                f"{task}, {label}, seed {seed}: an older result of the same job is left out, "
                f"made {f'with {said}' if said else 'with the same versions'}"
            )
    return kept, notes


def _identity(result: Result) -> tuple[str, str]:
    """Return what tells encoders apart: the name, and the identity or else the vectors that the signature names."""
    vectors = re.search(r"\|encoder=.* \((no identity[^)]*)\)", result.signature)
    return result.encoder, result.encoder_identity or (vectors[1] if vectors else "")


def told_apart(results: Sequence[Result]) -> tuple[list[Result], list[str]]:
    """Return all results, each encoder under a name that no other encoder has, and what is to be said of the names.

    Those of one name get their size behind it if that tells them apart, else a number each. Without identities a name
    stands for one encoder, unless its vectors for one job differ.
    """
    notes = []
    whole = {_identity(result): _identity(result) for result in results}
    for name in dict.fromkeys(result.encoder for result in results if not result.encoder_identity):
        unnamed = [result for result in results if result.encoder == name and not result.encoder_identity]
        of_jobs = grouped(((comparability(result), result.seed), _identity(result)) for result in unnamed)
        if any(len(set(vectors)) > 1 for vectors in of_jobs.values()):
            notes.append(
                f"{name} has no identity, and its vectors differ between runs: each is an encoder of its own here; "
                "give them names or an identity"
            )
            continue
        if len(of_jobs) > 1:
            notes.append(f"{name} has no identity: results of that name are taken for one encoder's")
        whole.update(dict.fromkeys(map(_identity, unnamed), (name, "")))
    encoders = dict.fromkeys(whole.values())
    sizes = {whole[_identity(result)]: result.dimension for result in results}
    total, seen = Counter(name for name, _ in encoders), Counter[str]()
    labels = {}
    for name, identity in encoders:
        seen[name] += 1
        by_size = len({size for (other, _), size in sizes.items() if other == name}) == total[name]
        behind = f" (size {sizes[name, identity]})" if by_size else f" ({seen[name]})"
        labels[name, identity] = name + behind * (total[name] > 1)
    return [replace(result, encoder=labels[whole[_identity(result)]]) for result in results], notes

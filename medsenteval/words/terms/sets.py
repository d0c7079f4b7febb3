"""The 20 data sets on disk: five kinds of pairs, easy and hard, with random and with Levenshtein negatives.

Files have the reference code's names: ``FSN_SYN_easy_distance5.tsv`` holds positives with a header,
``FSN_SYN_easy_distance5_with_neg_advanced.txt`` (Levenshtein) and ``..._simple.txt`` (random) hold term, term, 1 or 0,
shuffled and without a header. A build that was interrupted goes on with the set at which it stopped: finished files are read
back.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any, Final

from medsenteval.errors import DataError, DataMissingError
from medsenteval.support.atomic_files import write_atomically
from medsenteval.support.files import read_lines
from medsenteval.words.terms.negatives import levenshtein_negatives, random_negatives, unordered
from medsenteval.words.terms.positives import DIFFICULTIES, KINDS, Pair, Positives, split_by_distance

#: Strategy for negatives -> what the reference code's files call it; in the order of building.
STRATEGIES: Final = {"levenshtein": "advanced", "random": "simple"}
THRESHOLD: Final = 5
_HEADERS: Final = {"FSN_SYN": ("pref", "alt"), "SYN_SYN": ("label1", "label2")}
_MANIFEST: Final = "build.json"


@dataclass(frozen=True, order=True)
class SetName:
    """Which of the 20 sets."""

    kind: str
    difficulty: str
    strategy: str

    def __str__(self) -> str:
        return f"{self.kind}-{self.difficulty}-{self.strategy}"

    @property
    def file(self) -> str:
        return f"{self.kind}_{self.difficulty}_distance{THRESHOLD}_with_neg_{STRATEGIES[self.strategy]}.txt"


def set_names() -> list[SetName]:
    """Return all 20 sets in the order in which they are built."""
    return [SetName(kind, level, strategy) for strategy in STRATEGIES for kind in KINDS for level in DIFFICULTIES]


@dataclass(frozen=True, eq=False)
class TermSet:
    """One set: pairs and whether they are similar, in the order of the file."""

    name: SetName
    pairs: list[Pair]
    similar: list[bool]

    def of(self, similar: bool) -> list[Pair]:
        return [pair for pair, label in zip(self.pairs, self.similar, strict=True) if label == similar]


def read_set(folder: Path, name: SetName) -> TermSet | None:
    """Read one set back, or return None if the folder does not hold it."""
    path = folder / name.file
    if not path.is_file():
        return None
    pairs, similar = [], []
    for number, line in enumerate(read_lines(path)[0], start=1):
        fields = line.split("\t")
        if len(fields) != 3 or fields[2] not in ("0", "1") or not (fields[0] and fields[1]):
            raise DataError(f"{path}:{number}: expected term, term, 0 or 1 between tabs; build the set again")
        pairs.append((fields[0], fields[1]))
        similar.append(fields[2] == "1")
    return TermSet(name, pairs, similar)


def read_sets(folder: Path, chosen: Sequence[SetName] | None = None) -> list[TermSet]:
    """Read the sets that a folder holds; none at all is an error."""
    found = [term_set for name in chosen or set_names() if (term_set := read_set(folder, name)) is not None]
    if not found:
        raise DataMissingError(f"{folder}: no term set in it; make them with: medsenteval terms build ... -o {folder}")
    return found


def source_of(folder: Path) -> str:
    """Return what the sets of a folder were built from, as far as it says."""
    path = folder / _MANIFEST
    return str(json.loads(path.read_text("utf-8")).get("source", "")) if path.is_file() else ""


def is_synthetic(folder: Path) -> bool:
    return (folder / "SYNTHETIC.txt").is_file()


def build_sets(
    positives: Positives,
    folder: Path,
    *,
    notice: str,
    legacy: bool = False,
    announce: Callable[[str], None] = lambda message: None,
    progress: bool = False,
) -> dict[str, Any]:
    """Write all sets, their notice and their statistics below ``folder`` and return the statistics."""
    from tqdm import tqdm

    split = split_by_distance(positives, THRESHOLD)
    folder.mkdir(parents=True, exist_ok=True)
    _check_same_build(folder, split, legacy, positives.source)
    made = f"Made by medsenteval from {positives.source}{' in legacy mode' if legacy else ''}."
    method = "Method: Schulz and Juric 2020, Can Embeddings Adequately Represent Medical Terminology?, AAAI."
    write_atomically(folder / "NOTICE.txt", "".join(f"{line}\n" for line in (made, notice, *positives.rights, method)))
    if positives.rejected:
        write_atomically(folder / "rejected.txt", "".join(f"{row}\n" for row in positives.rejected))
    for (kind, level), pairs in split.items():
        rows = [_HEADERS.get(kind, ("source", "target")), *pairs]
        write_atomically(
            folder / f"{kind}_{level}_distance{THRESHOLD}.tsv", "".join(f"{first}\t{second}\n" for first, second in rows)
        )
    unpaired: dict[str, int] = {}
    for strategy in STRATEGIES:
        earlier: dict[tuple[str, str], list[Pair]] = {}
        for kind, level in split:
            name = SetName(kind, level, strategy)
            pairs = split[kind, level]
            if not pairs:
                announce(f"{name}: no similar pair of this kind")
                continue
            done = read_set(folder, name)
            if done is not None:
                announce(f"{name}: finished before")
                earlier[kind, level] = done.of(similar=False)
                unpaired[str(name)] = len(pairs) - len(earlier[kind, level])
                continue
            avoided = [*split.values(), *_to_avoid(earlier, kind, level, legacy)]
            forbidden = {unordered(pair) for known in avoided for pair in known}
            if strategy == "random":
                negatives = random_negatives(pairs, forbidden)
            else:
                # disable=None means: silent unless standard error is a terminal.
                total, hidden = len({first for first, _ in pairs}), None if progress else True
                with tqdm(total=total, desc=str(name), unit=" terms", leave=False, disable=hidden) as bar:
                    negatives = levenshtein_negatives(pairs, forbidden, legacy=legacy, progress=bar.update)
            lines = [f"{first}\t{second}\t1\n" for first, second in pairs]
            lines += [f"{first}\t{second}\t0\n" for first, second in negatives.pairs]
            negatives.rng.shuffle(lines)
            write_atomically(folder / name.file, "".join(lines))
            earlier[kind, level] = negatives.pairs
            unpaired[str(name)] = len(negatives.unpaired)
            left = f", {len(negatives.unpaired):,} without a partner" if negatives.unpaired else ""
            announce(f"{name}: {len(pairs):,} similar, {len(negatives.pairs):,} dissimilar{left}")
    statistics = statistics_of(folder)
    statistics["unpaired"] = {name: count for name, count in unpaired.items() if count}
    write_atomically(folder / "statistics.json", json.dumps(statistics, indent=1))
    return statistics


def _to_avoid(earlier: Mapping[tuple[str, str], list[Pair]], kind: str, level: str, legacy: bool) -> list[list[Pair]]:
    """Return the negatives of earlier sets that must not be made again.

    SYN_SYN holds all of FSN_SYN, so it may share its negatives; the reference code resets the list one set too late and
    keeps SYN_SYN easy from it.
    """
    avoided = []
    for (other, _), pairs in earlier.items():
        too_late = legacy and (kind, level, other) == ("SYN_SYN", "easy", "FSN_SYN")
        if other not in ("FSN_SYN", "SYN_SYN") or other == kind or too_late:
            avoided.append(pairs)
    return avoided


def _check_same_build(folder: Path, split: Mapping[tuple[str, str], Sequence[Pair]], legacy: bool, source: str) -> None:
    """Refuse to mix two builds in one folder."""
    digest = hashlib.sha256(json.dumps([[list(key), pairs] for key, pairs in split.items()]).encode()).hexdigest()
    manifest = {"source": source, "legacy": legacy, "positives": digest}
    path = folder / _MANIFEST
    if path.is_file():
        before = json.loads(path.read_text("utf-8"))
        if before != manifest:
            raise DataError(
                f"{folder} holds sets of another build ({before.get('source')}, legacy {before.get('legacy')}); "
                "name another folder or remove it"
            )
    elif any(folder.glob("*_with_neg_*.txt")):
        raise DataError(f"{folder} holds sets of unknown origin; name another folder")
    write_atomically(path, json.dumps(manifest, indent=1))


def statistics_of(folder: Path) -> dict[str, Any]:
    """Return sizes and Levenshtein distances (ignoring case) of the sets in a folder, like the paper's Table 2."""
    from rapidfuzz.distance import Levenshtein

    terms: set[str] = set()
    measured: dict[tuple[str, str, str], list[int]] = {}
    for term_set in read_sets(folder):
        name = term_set.name
        # Both strategies' files have the same positives.
        for similar, column in ((True, "positive"), (False, name.strategy)):
            if pairs := term_set.of(similar):
                distances = [Levenshtein.distance(first.lower(), second.lower()) for first, second in pairs]
                measured[name.kind, name.difficulty, column] = distances
                terms.update(term for pair in pairs for term in pair)
    for (kind, _, column), distances in list(measured.items()):
        measured.setdefault((kind, "all", column), []).extend(distances)
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for (kind, level, column), found in sorted(measured.items()):
        row = rows.setdefault((kind, level), {"kind": kind, "difficulty": level})
        row[column] = {"n": len(found), "mean": fmean(found), "median": median(found), "min": min(found), "max": max(found)}
    multiword = sum(len(term.split()) > 1 for term in terms) / len(terms)
    return {"sets": list(rows.values()), "terms": len(terms), "multiword_terms": multiword}

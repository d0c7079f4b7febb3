"""Near copies of BIOSSES sentences planted among 200,000 other real sentences: how many are found, how many falsely, how fast?

    python -m benchmarks.overlap REALDATA

REALDATA is a folder of real data sets (any .txt, .tsv, .xml ... files below it); BIOSSES must be found in it.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np

from medsenteval.datasets.locate import load_dataset
from medsenteval.datasets.near_duplicates import word_set
from medsenteval.datasets.overlap import corpus_overlap
from medsenteval.registry import task
from medsenteval.settings import Settings

__all__ = ["near_copy"]

_TEXT_FILES: Final = (".txt", ".tsv", ".xml", ".pos", ".neg", ".s1", ".s2", ".obj", ".subj", ".label", "")


def near_copy(text: str, rng: np.random.Generator) -> str:
    """Return a text with one word replaced, dropped or added, in other case and spacing."""
    words = list(re.finditer(r"\w+", text))
    word = words[int(rng.integers(len(words)))]
    changed = ("otherwise", "", f"{word[0]} otherwise")[int(rng.integers(3))]
    text = f"{text[: word.start()]}{changed}{text[word.end() :]}"
    return text.upper().replace(" ", "  ") if rng.integers(2) else text


def other_sentences(folder: Path) -> Iterator[str]:
    """Yield distinct lines of five words or more from all text files but BIOSSES; tagged corpora word by word."""
    seen: set[str] = set()
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or "biosses" in str(path).casefold() or path.suffix.casefold() not in _TEXT_FILES:
            continue
        text = path.read_bytes().decode("utf-8", "replace")
        if re.match(r"\S+\t[OBI](-\w+)?$", text.partition("\n")[0]):
            blocks = (" ".join(line.partition("\t")[0] for line in block.splitlines()) for block in text.split("\n\n"))
        else:
            blocks = (cell for line in text.splitlines() for cell in re.split(r"\t|<[^>]+>", line))
        for block in blocks:
            line = block.strip()
            if len(line.split()) > 4 and line not in seen:
                seen.add(line)
                yield line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("realdata", type=Path)
    parser.add_argument("--sentences", type=int, default=200_000)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    texts = list(dict.fromkeys(load_dataset(task("BIOSSES"), options.realdata, Settings()).all_texts()))
    # One word of ten or more leaves a Jaccard similarity of 0.8.
    long = [number for number, text in enumerate(texts) if len(word_set(text)) >= 12]
    planted = rng.choice(long, size=50, replace=False)
    lines: list[str] = []
    for line in other_sentences(options.realdata):
        lines.append(line)
        if len(lines) == options.sentences:
            break
    own = len(lines)
    places = np.sort(rng.choice(own, size=50, replace=False))
    for offset, (place, number) in enumerate(zip(places, planted, strict=True)):
        lines.insert(int(place) + offset, near_copy(texts[number], rng))
    started = time.perf_counter()
    found = corpus_overlap(texts, enumerate(lines, start=1))
    seconds = time.perf_counter() - started
    planted_lines = {
        int(place) + offset + 1: int(number) for offset, (place, number) in enumerate(zip(places, planted, strict=True))
    }
    hits = sum(planted_lines.get(line) == texts.index(text) for text, where in found.items() for line in where)
    false = sorted({line for where in found.values() for line in where} - set(planted_lines))
    print(f"{len(texts)} BIOSSES sentences against {own:,} others and 50 near copies: {seconds:.1f} s")
    print(f"{hits} of 50 near copies found; {len(false)} other line(s) found {false[:10] or ''}".strip())


if __name__ == "__main__":
    main()

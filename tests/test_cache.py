"""The embedding cache: nothing is encoded twice, and nothing damaged, foreign or half-written is ever used."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

from medsenteval.cache import BLOCK_ROWS, CacheError, CacheWarning, EmbeddingCache
from medsenteval.contracts import Embeddings
from medsenteval.embedding import TextOrder, embed_texts
from tests.conftest import CountingEncoder

TEXTS = [f"text number {i} {'x' * (i % 17)}" for i in range(2 * BLOCK_ROWS + 100)]


@pytest.fixture
def cache(tmp_path: Path) -> EmbeddingCache:
    return EmbeddingCache(tmp_path)


def embed(cache: EmbeddingCache | None, encoder: CountingEncoder, texts: list[str] = TEXTS) -> Embeddings:
    return embed_texts(encoder, texts, batch_size=512, task_name="T", cache=cache)


def encoded(encoder: CountingEncoder) -> int:
    return sum(map(len, encoder.batches))


def test_the_second_run_encodes_nothing_and_gives_the_same_bits(cache: EmbeddingCache) -> None:
    first, second = CountingEncoder(), CountingEncoder()
    matrix = embed(cache, first).matrix
    again = embed(cache, second)
    assert (encoded(first), encoded(second)) == (len(TEXTS), 0)
    assert isinstance(again.matrix, np.memmap)
    assert np.array_equal(matrix, again.matrix)
    assert np.array_equal(again.matrix, embed(None, CountingEncoder()).matrix)


def test_the_order_of_the_texts_does_not_matter_but_each_text_does(cache: EmbeddingCache) -> None:
    embed(cache, CountingEncoder())
    reversed_run, other = CountingEncoder(), CountingEncoder()
    embed(cache, reversed_run, TEXTS[::-1])
    embed(cache, other, [*TEXTS[:-1], "another"])
    assert (encoded(reversed_run), encoded(other)) == (0, len(TEXTS))


def test_another_identity_is_another_entry_and_no_identity_is_none(cache: EmbeddingCache) -> None:
    embed(cache, CountingEncoder())
    other, nameless = CountingEncoder(), CountingEncoder()
    other.identity, nameless.identity = "counting-2", ""
    embed(cache, other)
    embed(cache, nameless)
    assert (encoded(other), encoded(nameless)) == (len(TEXTS), len(TEXTS))
    assert len(cache.entries()) == 2


def test_an_encoder_that_learns_from_the_texts_is_kept_under_all_of_them(cache: EmbeddingCache) -> None:
    class Learns(CountingEncoder):
        def prepare(self, texts: list[str]) -> None:
            self.scale = len(texts)

        def encode(self, texts: list[str]) -> object:  # type: ignore[override]
            return super().encode(texts) * self.scale

    once, twice, again = Learns(), Learns(), Learns()
    single = np.array(embed(cache, once, ["aa", "b"]).matrix)
    double = embed(cache, twice, ["aa", "b", "b"]).matrix
    assert np.array_equal(double * 2, single * 3)
    assert np.array_equal(embed(cache, again, ["b", "aa", "b"]).matrix, double)
    assert (encoded(twice), encoded(again)) == (2, 0)


def damage_bit(folder: Path) -> None:
    with open(folder / "matrix.f32", "r+b") as stream:
        stream.seek(BLOCK_ROWS * 27 * 4 + 5)
        byte = stream.read(1)
        stream.seek(-1, os.SEEK_CUR)
        stream.write(bytes([byte[0] ^ 1]))


def cut_matrix(folder: Path) -> None:
    os.truncate(folder / "matrix.f32", BLOCK_ROWS * 27 * 4 + 100)


def swap_records(folder: Path) -> None:
    first, second = folder / "block-000000", folder / "block-000001"
    contents = first.read_text(), second.read_text()
    first.write_text(contents[1])
    second.write_text(contents[0])


def remove_matrix(folder: Path) -> None:
    (folder / "matrix.f32").unlink()


def garble_record(folder: Path) -> None:
    (folder / "block-000001").write_bytes(b"\xff\x00")


def break_description(folder: Path) -> None:
    (folder / "about.json").write_text("{")


@pytest.mark.parametrize(
    ("damage", "blocks_again"),
    [(damage_bit, [1]), (cut_matrix, [1, 2]), (swap_records, [0, 1]), (remove_matrix, [0, 1, 2]), (garble_record, [1]),
     (break_description, [0, 1, 2])],
)  # fmt: skip
def test_damage_is_found_and_only_the_damaged_blocks_are_computed_again(
    cache: EmbeddingCache, damage: object, blocks_again: list[int]
) -> None:
    expected = np.array(embed(cache, CountingEncoder()).matrix)
    ((entry, _),) = cache.entries()
    damage(entry.folder)  # type: ignore[operator]
    encoder = CountingEncoder()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        repaired = embed(cache, encoder).matrix
    assert np.array_equal(repaired, expected)
    order = TextOrder.of(TEXTS)
    assert encoded(encoder) == sum(len(order.block(block)) for block in blocks_again)
    reported = [str(warning.message) for warning in caught if issubclass(warning.category, CacheWarning)]
    assert bool(reported) == (damage in (damage_bit, cut_matrix, swap_records, remove_matrix))
    assert entry.missing_blocks() == []


def test_an_entry_copied_to_another_place_is_foreign(cache: EmbeddingCache) -> None:
    embed(cache, CountingEncoder())
    ((entry, _),) = cache.entries()
    other = CountingEncoder()
    other.identity = "counting-2"
    stranger = cache.entry("counting-2", TextOrder.of(TEXTS).texts)
    os.rename(entry.folder, stranger.folder)
    embed(cache, other)
    assert encoded(other) == len(TEXTS)


def test_a_run_that_stops_in_the_middle_keeps_its_finished_blocks(cache: EmbeddingCache) -> None:
    class Stops(CountingEncoder):
        def encode(self, texts: list[str]) -> object:  # type: ignore[override]
            if encoded(self) >= BLOCK_ROWS + 512:
                raise KeyboardInterrupt
            return super().encode(texts)

    with pytest.raises(KeyboardInterrupt):
        embed(cache, Stops())
    rest = CountingEncoder()
    embed(cache, rest)
    assert encoded(rest) == len(TEXTS) - BLOCK_ROWS


def test_two_threads_encode_each_text_once_between_them(cache: EmbeddingCache) -> None:
    encoders = [CountingEncoder(), CountingEncoder()]
    threads = [threading.Thread(target=embed, args=(cache, encoder)) for encoder in encoders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert sorted(map(encoded, encoders)) == [0, len(TEXTS)]


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="mounting a small file system needs root on Linux")
def test_a_full_disk_is_a_clear_error_and_corrupts_nothing(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(disk)], capture_output=True).returncode != 0:
        pytest.skip("this machine does not allow mounting")
    try:
        small = EmbeddingCache(disk)
        with pytest.raises(CacheError, match="cannot be written: No space left on device"):
            embed(small, CountingEncoder())
        fitting = TEXTS[:500]
        assert np.array_equal(embed(small, CountingEncoder(), fitting).matrix, embed(None, CountingEncoder(), fitting).matrix)
    finally:
        subprocess.run(["umount", str(disk)], check=True)

"""The embedding cache: nothing is encoded twice, and nothing damaged, foreign or half-written is ever used."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from medsenteval.cli.main import main
from medsenteval.contracts import Embeddings
from medsenteval.embedding import embed as embedding
from medsenteval.embedding.cache import (
    CacheError,
    CacheWarning,
    EmbeddingCache,
    VectorStore,
    _Block,
    _has_others,
    cache_folder,
    check_owner,
)
from medsenteval.embedding.embed import embed_texts, in_order
from medsenteval.errors import EncoderError
from tests.conftest import CountingEncoder

#: Rows of a block where the tests have them written by size: three blocks of four batches and a rest.
BLOCK = 400
TEXTS = [f"text number {i} {'x' * (i % 17)}" for i in range(2 * BLOCK + 30)]


@pytest.fixture
def in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "_BYTES_UNSTORED", BLOCK * 27 * 4 - 1)


@pytest.fixture
def cache(tmp_path: Path) -> EmbeddingCache:
    return EmbeddingCache(tmp_path)


def embed(cache: EmbeddingCache | None, encoder: CountingEncoder, texts: list[str] = TEXTS) -> Embeddings:
    return embed_texts(encoder, texts, batch_size=100, task_name="T", cache=cache)


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


def test_texts_are_found_whatever_data_set_they_stand_in(cache: EmbeddingCache) -> None:
    """Another order, a part, and another data set of which nine tenths are known encode what is new and nothing else."""
    embed(cache, CountingEncoder())
    n_new = len(TEXTS) // 10
    mixed = [*TEXTS[n_new:], *(f"new {i} {'y' * (i % 13)}" for i in range(n_new))]
    for texts, new in ((TEXTS[::-1], 0), (TEXTS[:50], 0), (TEXTS[::7], 0), (mixed, n_new), (mixed[::-3], 0)):
        encoder = CountingEncoder()
        found = embed(cache, encoder, texts)
        assert (encoded(encoder), found.n_encoded) == (new, new)
        assert np.array_equal(found.matrix, embed(None, CountingEncoder(), texts).matrix)
        assert [found.row_of[text] for text in in_order(texts)] == list(range(len(texts)))
    (store,) = cache.stores()
    assert sum(block.rows for block in store.blocks()) == len(TEXTS) + n_new


def test_token_counts_are_kept_with_the_vectors(cache: EmbeddingCache) -> None:
    class Counts(CountingEncoder):
        def token_counts(self, texts: list[str]) -> list[int]:
            return [len(text) for text in texts]

    embed(cache, Counts(), TEXTS[:300])
    found = embed(cache, Counts(), TEXTS[100:])
    assert found.tokens is not None
    assert found.tokens.tolist() == [len(text) for text in in_order(TEXTS[100:])]
    assert embed(None, CountingEncoder(), TEXTS[:3]).tokens.tolist() == [0, 0, 0]  # type: ignore[union-attr]


def test_a_store_that_was_written_before_is_read_by_this_code(cache: EmbeddingCache) -> None:
    """Whoever changes what is written here counts up the layout, so that no store is called damaged."""
    embed(cache, CountingEncoder(), ["a", "bb", "ccc"])
    (store,) = cache.stores()
    (block,) = store.blocks()
    assert store.folder.name == "4ad7a46985718441fb1c9edbf4b632b542712c94"
    head, _, body = block.path.read_bytes().partition(b"\n")
    assert head.decode() == "0 3 27 dfb50095148eabfe405f2d9ab0ead67f1ad2ea7e"
    texts = b"".join(hashlib.blake2b(text, digest_size=16).digest() for text in (b"a", b"bb", b"ccc"))
    assert body == texts + bytes(3 * 4)
    assert store.path.stat().st_size == 3 * 27 * 4


def test_another_identity_is_another_entry_and_no_identity_is_none(cache: EmbeddingCache) -> None:
    embed(cache, CountingEncoder())
    other, nameless = CountingEncoder(), CountingEncoder()
    other.identity, nameless.identity = "counting-2", ""
    embed(cache, other)
    embed(cache, nameless)
    assert (encoded(other), encoded(nameless)) == (len(TEXTS), len(TEXTS))
    assert len(cache.stores()) == 2


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


def damage_bit(store: VectorStore) -> None:
    with open(store.path, "r+b") as stream:
        stream.seek(BLOCK * 27 * 4 + 5)
        byte = stream.read(1)
        stream.seek(-1, os.SEEK_CUR)
        stream.write(bytes([byte[0] ^ 1]))


def cut_rows(store: VectorStore) -> None:
    os.truncate(store.path, BLOCK * 27 * 4 + 100)


def remove_rows(store: VectorStore) -> None:
    store.path.unlink()


def swap_records(store: VectorStore) -> None:
    first, second = (store.folder / f"block-00000{number}" for number in (0, 1))
    contents = first.read_bytes(), second.read_bytes()
    first.write_bytes(contents[1] + b"x")
    second.write_bytes(contents[0][1:])


def change_record(part: int, value: object) -> Callable[[VectorStore], None]:
    def damage(store: VectorStore) -> None:
        path = store.folder / "block-000001"
        head, _, body = path.read_bytes().partition(b"\n")
        parts: list[object] = [*head.decode().split()]
        parts[part] = value
        path.write_bytes(" ".join(map(str, parts)).encode() + b"\n" + body)

    return damage


def change_text(store: VectorStore) -> None:
    path = store.folder / "block-000001"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def garble_record(store: VectorStore) -> None:
    (store.folder / "block-000001").write_bytes(b"\xff\x00")


def empty_record(store: VectorStore) -> None:
    (store.folder / "block-000001").write_bytes(b"")


LIES = [change_record(part, value) for part in (0, 1, 2) for value in (-4, 0, 1, 28, 1.5, "x", 2**31, 2**62, 10**400)]


@pytest.mark.parametrize(
    ("damage", "blocks_again"),
    [(damage_bit, [1]), (cut_rows, [1, 2]), (swap_records, [0, 1]), (remove_rows, [0, 1, 2]), (garble_record, [1]),
     (empty_record, [1]), (change_text, [1]), *((lie, [1]) for lie in LIES)],
)  # fmt: skip
def test_damage_is_found_and_only_the_damaged_blocks_are_computed_again(
    cache: EmbeddingCache, damage: Callable[[VectorStore], None], blocks_again: list[int], in_blocks: None
) -> None:
    expected = np.array(embed(cache, CountingEncoder()).matrix)
    (store,) = cache.stores()
    sizes = [block.rows for block in store.blocks()]
    assert sizes == [BLOCK, BLOCK, 30]
    damage(store)
    encoder = CountingEncoder()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        repaired = embed(cache, encoder).matrix
    assert np.array_equal(repaired, expected)
    assert encoded(encoder) == sum(sizes[block] for block in blocks_again)
    assert [warning.category for warning in caught].count(CacheWarning) == 1
    again = CountingEncoder()
    assert np.array_equal(embed(cache, again).matrix, expected)
    assert encoded(again) == 0
    blocks = store.blocks()
    assert store.damaged(blocks) == []
    assert len(blocks) == len(list(store.folder.glob("block-*")))


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[" * 100_000,
        "[]",
        "null",
        '{"encoder": 3}',
        '{"layout": -1, "dimension": -5}',
        '{"layout": 1' + "0" * 9000 + "}",
    ],
    ids=["empty", "cut", "nested", "list", "null", "number", "negative", "huge"],
)
def test_what_a_store_says_of_itself_plays_no_part(
    cache: EmbeddingCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str
) -> None:
    monkeypatch.setenv("MEDSENTEVAL_CACHE", str(tmp_path))
    embed(cache, CountingEncoder())
    (store,) = cache.stores()
    about = store.folder / "about.json"
    sound = about.read_text()
    about.write_text(content)
    for command in ("info", "verify"):
        shown = CliRunner().invoke(main, ["cache", command])
        assert (shown.exit_code, store.key[:12] in shown.output) == (0, True), shown.output
    encoder = CountingEncoder()
    embed(cache, encoder)
    assert encoded(encoder) == 0
    embed(cache, encoder, [*TEXTS, "another text"])
    assert encoder.batches == [["another text"]]
    assert about.read_text() == sound


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({}, "home/.cache/medsenteval"),
        ({"XDG_CACHE_HOME": "~/other"}, "home/other/medsenteval"),
        ({"XDG_CACHE_HOME": "", "MEDSENTEVAL_CACHE": ""}, "home/.cache/medsenteval"),
        ({"XDG_CACHE_HOME": "~/other", "MEDSENTEVAL_CACHE": "~/mine"}, "home/mine"),
    ],
)
def test_the_cache_lies_where_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], folder: str
) -> None:
    for name in ("XDG_CACHE_HOME", "MEDSENTEVAL_CACHE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"HOME": str(tmp_path / "home"), "USERPROFILE": str(tmp_path / "home"), **environment}.items():
        monkeypatch.setenv(name, value)
    assert cache_folder() == tmp_path / folder


def test_days_are_counted_since_vectors_were_last_read(
    cache: EmbeddingCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEDSENTEVAL_CACHE", str(tmp_path))
    embed(cache, CountingEncoder())
    (store,) = cache.stores()
    then = time.time() - 1_000.4 * 24 * 3_600
    os.utime(store.folder / "about.json", (then, then))
    assert store.days_unused == pytest.approx(1_000.4, abs=0.005)
    assert CliRunner().invoke(main, ["cache", "info"]).output.splitlines()[2].split()[-1] == "1000"
    removed = [CliRunner().invoke(main, ["cache", "prune", "--older-than", days]).output for days in ("1000.6", "1000.2")]
    assert ["removed" in output for output in removed] == [False, True]
    assert cache.stores() == []


def test_a_block_is_numbered_after_the_last_however_many_digits_that_has(cache: EmbeddingCache) -> None:
    embed(cache, CountingEncoder())
    (store,) = cache.stores()
    (store.folder / "block-000000").rename(store.folder / "block-1234567")
    encoder = CountingEncoder()
    embed(cache, encoder, [*TEXTS, "another text"])
    assert encoder.batches == [["another text"]]
    assert {path.name for path in store.folder.glob("block-123*")} == {"block-1234567", "block-1234568"}


def test_a_complete_store_is_read_where_no_use_can_be_noted(cache: EmbeddingCache, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a file system that is mounted for reading only, or in a folder of root's."""

    def refuse(*arguments: object, **options: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    embed(cache, CountingEncoder())
    monkeypatch.setattr(os, "utime", refuse)
    encoder = CountingEncoder()
    embed(cache, encoder)
    assert encoded(encoder) == 0


def test_a_store_copied_to_another_place_is_foreign(cache: EmbeddingCache) -> None:
    embed(cache, CountingEncoder())
    (store,) = cache.stores()
    other = CountingEncoder()
    other.identity = "counting-2"
    os.rename(store.folder, cache.store("counting-2").folder)
    with pytest.warns(CacheWarning):
        embed(cache, other)
    assert encoded(other) == len(TEXTS)


def test_vectors_of_another_width_under_the_same_identity_are_refused(cache: EmbeddingCache) -> None:
    class Wider(CountingEncoder):
        def encode(self, texts: list[str]) -> object:  # type: ignore[override]
            return np.repeat(super().encode(texts), 2, axis=1)

    embed(cache, CountingEncoder(), TEXTS[:10])
    with pytest.raises(EncoderError, match="width 54, but 27"):
        embed(cache, Wider(), TEXTS[:20])
    embed(cache, Wider(), TEXTS[20:30])
    mixed = CountingEncoder()
    with pytest.warns(CacheWarning):
        embed(cache, mixed, TEXTS[:30])
    assert encoded(mixed) == 20


def test_texts_that_are_gone_right_after_they_were_stored_are_an_error(
    cache: EmbeddingCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(VectorStore, "append", lambda *_: None)
    with pytest.raises(EncoderError, match=r"T: 10 texts were stored and are not in .*encoded.*; run again"):
        embed(cache, CountingEncoder(), TEXTS[:10])


def test_damage_beside_vectors_of_another_width_is_found(cache: EmbeddingCache) -> None:
    class Wider(CountingEncoder):
        def encode(self, texts: list[str]) -> object:  # type: ignore[override]
            return np.repeat(super().encode(texts), 2, axis=1)

    expected = embed(cache, CountingEncoder(), TEXTS[:10]).matrix.copy()
    embed(cache, Wider(), TEXTS[20:30])
    (store,) = cache.stores()
    content = bytearray(store.path.read_bytes())
    content[0] ^= 1
    store.path.write_bytes(content)
    again = CountingEncoder()
    with pytest.warns(CacheWarning):
        found = embed(cache, again, TEXTS[:10] + TEXTS[20:30])
    assert encoded(again) == 20
    assert np.array_equal(found.matrix[[found.row_of[text] for text in in_order(TEXTS[:10])]], expected)


@pytest.mark.parametrize("stop", [KeyboardInterrupt, MemoryError])
def test_what_was_encoded_before_a_stop_is_kept(cache: EmbeddingCache, stop: type[BaseException]) -> None:
    class Stops(CountingEncoder):
        def encode(self, texts: list[str]) -> object:  # type: ignore[override]
            if encoded(self) >= 500:
                raise stop
            return super().encode(texts)

    with pytest.raises(stop):
        embed(cache, Stops())
    rest, whole = CountingEncoder(), CountingEncoder()
    matrix = embed(cache, rest).matrix
    assert encoded(rest) == len(TEXTS) - 500
    assert np.array_equal(matrix, embed(None, whole).matrix)
    # The batches are those of a run that was not stopped, so that vectors which depend on their batch are the same too.
    assert rest.batches == whole.batches[5:]


def test_an_interrupt_in_the_middle_of_writing_loses_nothing(
    cache: EmbeddingCache, monkeypatch: pytest.MonkeyPatch, in_blocks: None
) -> None:
    append, calls = VectorStore.append, []

    def interrupted(*arguments: Any) -> None:
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        append(*arguments)

    monkeypatch.setattr(VectorStore, "append", interrupted)
    with pytest.raises(KeyboardInterrupt):
        embed(cache, CountingEncoder())
    rest = CountingEncoder()
    embed(cache, rest)
    assert encoded(rest) == 30


def test_rows_are_written_every_few_seconds(cache: EmbeddingCache, monkeypatch: pytest.MonkeyPatch) -> None:
    now, stored = [0.0], []
    monkeypatch.setattr(time, "monotonic", lambda: now[0])

    class Slow(CountingEncoder):
        def encode(self, texts: list[str]) -> object:  # type: ignore[override]
            now[0] += 0.9
            stored.append(sum(block.rows for store in cache.stores() for block in store.blocks()))
            return super().encode(texts)

    embed(cache, Slow())
    behind = [100 * number - rows for number, rows in enumerate(stored)]
    assert max(behind) == 200  # 1.8 s; after 2.7 they are written


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
    if (
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=60k,mode=700", "tmpfs", str(disk)], capture_output=True).returncode
        != 0
    ):
        pytest.skip("this machine does not allow mounting")
    try:
        small = EmbeddingCache(disk)
        with pytest.raises(CacheError, match="cannot be written: No space left on device"):
            embed(small, CountingEncoder())
        fitting = TEXTS[:150]
        assert np.array_equal(embed(small, CountingEncoder(), fitting).matrix, embed(None, CountingEncoder(), fitting).matrix)
    finally:
        subprocess.run(["umount", str(disk)], check=True)


# ---------------------------------------------------------------- links, and other users


def test_links_inside_the_cache_are_not_followed(cache: EmbeddingCache, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")
    store = cache.store("counting-1")
    store.folder.mkdir(parents=True, mode=0o700)
    for name in ("rows.f32", "lock"):
        (store.folder / name).symlink_to(precious)
        with pytest.raises(CacheError, match=rf"{name}: a link, and links inside the cache are not followed; remove it"):
            embed(cache, CountingEncoder(), TEXTS[:10])
        (store.folder / name).unlink()
    (store.folder / "about.json").symlink_to(precious)
    embed(cache, CountingEncoder(), TEXTS[:10])
    assert not (store.folder / "about.json").is_symlink()
    assert precious.read_text() == "mine"
    elsewhere = store.folder.rename(tmp_path / "elsewhere")
    store.folder.symlink_to(elsewhere)
    with pytest.raises(CacheError, match="a link"):
        embed(cache, CountingEncoder(), TEXTS[:10])
    assert cache.stores() == []


def test_a_link_put_there_while_a_run_works_is_not_followed(cache: EmbeddingCache, tmp_path: Path, in_blocks: None) -> None:
    precious = tmp_path / "precious"
    precious.write_bytes(b"mine")

    class Links(CountingEncoder):
        def encode(self, texts: list[str]) -> object:  # type: ignore[override]
            for store in cache.stores():
                store.path.unlink(missing_ok=True)
                store.path.symlink_to(precious)
            return super().encode(texts)

    with pytest.raises(CacheError, match="cannot be written"):
        embed(cache, Links())
    assert precious.read_bytes() == b"mine"


@pytest.mark.skipif(os.name != "posix", reason="permissions as POSIX has them")
@pytest.mark.parametrize("where", ["", "encoded", "encoded/KEY", "encoded/KEY/rows.f32"])
def test_what_others_can_write_is_refused_with_the_remedy(cache: EmbeddingCache, tmp_path: Path, where: str) -> None:
    embed(cache, CountingEncoder(), TEXTS[:10])
    (entry,) = cache.stores()
    path = tmp_path / where.replace("KEY", entry.key)
    path.chmod(0o777)
    with pytest.raises(CacheError, match=r"other users can write here.*`chmod go-w .*MEDSENTEVAL_CACHE"):
        embed(cache, CountingEncoder(), TEXTS[:10])
    path.chmod(0o700)
    encoder = CountingEncoder()
    embed(cache, encoder, TEXTS[:10])
    assert encoded(encoder) == 0
    if os.geteuid() == 0:
        os.chown(path, 12345, 12345)
        with pytest.raises(CacheError, match=r"belongs to another user \(number 12345\)"):
            embed(cache, CountingEncoder(), TEXTS[:10])


@pytest.mark.skipif(os.name != "posix", reason="permissions as POSIX has them")
@pytest.mark.parametrize(
    ("members", "users", "shared"),
    [
        ([], {"me": 0}, False),
        (["me"], {"me": 0}, False),
        (["me", "colleague"], {"me": 0}, True),
        ([], {"me": 0, "colleague": 0}, True),
        ([], {"me": 0, "colleague": 1}, False),
        (["gone"], {"me": 0}, True),
        (None, {"me": 0}, True),
    ],
)
def test_a_group_of_several_users_is_others(
    cache: EmbeddingCache,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    members: list[str] | None,
    users: dict[str, int],
    shared: bool,
) -> None:
    import grp
    import pwd

    group = tmp_path.stat().st_gid
    numbers = {"me": os.geteuid(), "colleague": 4321}
    known = {name: SimpleNamespace(pw_uid=numbers[name], pw_gid=group + gid) for name, gid in users.items()}
    known.setdefault("colleague", SimpleNamespace(pw_uid=4321, pw_gid=group + 1))
    groups = {} if members is None else {group: SimpleNamespace(gr_mem=members)}
    monkeypatch.setattr(grp, "getgrgid", groups.__getitem__)
    monkeypatch.setattr(pwd, "getpwnam", known.__getitem__)
    monkeypatch.setattr(pwd, "getpwall", lambda: list(known.values()))
    tmp_path.chmod(0o770)
    refused = pytest.raises(CacheError, match="other users can write here") if shared else nullcontext()
    with refused:
        embed(cache, CountingEncoder(), TEXTS[:10])


@pytest.mark.skipif(os.name != "posix", reason="permissions as POSIX has them")
@pytest.mark.parametrize(("members", "others"), [(["root", "me"], False), (["me", "daemon"], True), ([], False)])
def test_root_is_nobody_else(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, members: list[str], others: bool) -> None:
    import grp
    import pwd

    numbers = {"root": 0, "daemon": 1, "me": 1000}
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(grp, "getgrgid", {50: SimpleNamespace(gr_mem=members)}.__getitem__)
    monkeypatch.setattr(pwd, "getpwnam", lambda name: SimpleNamespace(pw_uid=numbers[name]))
    monkeypatch.setattr(pwd, "getpwall", lambda: [SimpleNamespace(pw_uid=0, pw_gid=50), SimpleNamespace(pw_uid=1, pw_gid=51)])
    assert _has_others(50) is others
    if tmp_path.stat().st_uid == 0:
        tmp_path.chmod(0o755)
        check_owner(tmp_path, may_be_link=False)


@pytest.mark.skipif(os.name != "posix", reason="permissions as POSIX has them")
def test_the_cache_is_made_for_its_user_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        cache = EmbeddingCache(tmp_path / "new")
        embed(cache, CountingEncoder(), TEXTS[:10])
    finally:
        os.umask(before)
    (entry,) = cache.stores()
    for folder in (entry.folder, cache.folder, cache.folder.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(entry.path.stat().st_mode) == 0o600
    encoder = CountingEncoder()
    embed(cache, encoder, TEXTS[:10])
    assert encoded(encoder) == 0


@pytest.mark.parametrize(
    ("at", "rows", "columns", "texts", "tokens", "sound"),
    [
        (0, 1, 1, 1, 1, True),
        (2**60 - 4, 2, 2**31 - 1, 2, 2, True),
        (-4, 1, 1, 1, 1, False),
        (2**60, 1, 1, 1, 1, False),
        (0, 0, 1, 0, 0, False),
        (0, 1, 0, 1, 1, False),
        (0, 1, 2**31, 1, 1, False),
        (0, 2, 1, 2, 1, False),
        (0, 1, 1, 0, 1, False),
    ],
)
def test_a_record_is_read_only_where_its_numbers_can_be(
    tmp_path: Path, at: int, rows: int, columns: int, texts: int, tokens: int, sound: bool
) -> None:
    path = tmp_path / "block-000000"
    path.write_bytes(f"{at} {rows} {columns} digest\n".encode() + b"h" * 16 * texts + bytes(4 * tokens))
    block = _Block.read(path)
    assert (block is not None) == sound
    if block is not None:
        assert (block.at, block.rows, block.columns, block.digest) == (at, rows, columns, "digest")
        assert (block.texts, block.tokens.tolist()) == (b"h" * 16 * rows, [0] * rows)
        assert block.size == 4 * rows * columns
    path.write_bytes(b"1 2\n")
    assert _Block.read(path) is None
    assert _Block.read(tmp_path / "absent") is None

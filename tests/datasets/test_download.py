"""Downloads against a real HTTP server on loopback that cuts, lies, redirects, refuses and forgets."""

from __future__ import annotations

import hashlib
import random
import socket
import sys
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from medsenteval.cli.main import main
from medsenteval.datasets import download as module
from medsenteval.datasets.download import DOWNLOADS, LOCK_NAME, Patience, fetch, read_lock
from medsenteval.datasets.manifest import Download
from medsenteval.errors import DataError
from tests.datasets.server import Page, Server, serving

CONTENT = random.Random(7).randbytes(300_000)
DIGEST = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Make pauses instead of waiting for them."""
    made: list[float] = []
    monkeypatch.setattr(module, "time", SimpleNamespace(sleep=made.append))
    return made


def fails_once(url: str, folder: Path) -> str:
    """Fetch with a single attempt and return why it failed."""
    with pytest.raises(DataError) as failure:
        fetch(download(url), folder, ignored, patience=Patience(attempts=1))
    return str(failure.value)


def ignored(message: str) -> None:
    """Announce nothing."""


@pytest.fixture(autouse=True)
def _loopback_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no test reach beyond this machine."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    resolve = socket.getaddrinfo

    def loopback(host: str, *arguments: Any, **options: Any) -> Any:
        if host != "127.0.0.1":
            raise socket.gaierror(f"{host} is beyond this machine")
        return resolve(host, *arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", loopback)


def download(*urls: str, sha256: str = DIGEST, size: int | None = None) -> Download:
    return Download("file.bin", urls, size, sha256)


def left_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_fetched_verified_and_not_fetched_again(server: Server, tmp_path: Path) -> None:
    url = server.serve("/file.bin", Page(CONTENT))
    got = fetch(download(url), tmp_path, ignored)
    assert (got.sha256, got.size, got.url) == (DIGEST, 300_000, url)
    assert (tmp_path / "file.bin").read_bytes() == CONTENT
    assert left_in(tmp_path) == ["file.bin"]
    fetch(download(url), tmp_path, ignored)
    assert len(server.requests) == 1


def fetched(folder: Path, *arguments: Any, **options: Any) -> bytes:
    """Fetch and return what was stored."""
    fetch(download(*arguments), folder, **{"announce": ignored, **options})
    return (folder / "file.bin").read_bytes()


def test_a_cut_connection_is_resumed_to_the_same_bytes(server: Server, tmp_path: Path) -> None:
    url = server.serve("/file.bin", Page(CONTENT, cuts=3, cut_after=70_001))
    said: list[str] = []
    assert fetched(tmp_path, url, announce=said.append) == CONTENT
    assert [wanted for _, wanted in server.requests] == ["", "bytes=70001-", "bytes=140002-", "bytes=210003-"]
    assert "the connection was cut at 70,001 of 300,000 bytes (attempt 1 of 4)" in said[0]


def test_a_download_resumes_in_a_later_run(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = server.serve("/file.bin", Page(CONTENT, cuts=1, cut_after=123_456))
    assert fails_once(url, tmp_path).endswith("cut at 123,456 of 300,000 bytes, 1 times")
    assert not (tmp_path / "file.bin").exists()
    assert fetched(tmp_path, url) == CONTENT
    assert server.requests[-1][1] == "bytes=123456-"


def test_without_a_hash_nothing_is_continued(server: Server, tmp_path: Path) -> None:
    url = server.serve("/file.bin", Page(CONTENT, cuts=1, cut_after=50_000))
    fetch(download(url, sha256=""), tmp_path, ignored)
    assert (tmp_path / "file.bin").read_bytes() == CONTENT
    assert [wanted for _, wanted in server.requests] == ["", ""]


def test_a_server_that_ignores_ranges_starts_anew(server: Server, tmp_path: Path) -> None:
    url = server.serve("/file.bin", Page(CONTENT, cuts=1, cut_after=50_000, ranges=False))
    assert fetched(tmp_path, url) == CONTENT
    assert [wanted for _, wanted in server.requests] == ["", "bytes=50000-"]


def test_halves_of_two_files_are_noticed_by_their_hash(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pauses: list[float]
) -> None:
    old = random.Random(9).randbytes(300_000)
    url = server.serve("/file.bin", Page(old, cuts=1, cut_after=90_000))
    assert "cut at 90,000" in fails_once(url, tmp_path)
    server.serve("/file.bin", Page(CONTENT))
    said: list[str] = []
    assert fetched(tmp_path, url, announce=said.append) == CONTENT
    assert "serves another file" in said[0]
    assert [wanted for _, wanted in server.requests[-2:]] == ["bytes=90000-", ""]
    assert pauses == []  # another file is nothing that passes with time


def test_a_part_longer_than_the_file_and_a_wrong_range_start_anew(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = server.serve("/file.bin", Page(CONTENT + b"x" * 1000, cuts=1, cut_after=300_500))
    assert "cut at 300,500" in fails_once(url, tmp_path)
    server.serve("/file.bin", Page(CONTENT))
    assert fetched(tmp_path, url) == CONTENT
    (tmp_path / "file.bin").unlink()
    server.serve("/file.bin", Page(CONTENT, cuts=1, cut_after=10, wrong_range=True))
    said: list[str] = []
    assert fetched(tmp_path, url, announce=said.append) == CONTENT
    assert "continues at another byte" in said[1]


def test_a_file_without_a_length_is_taken_when_its_hash_is_right(server: Server, tmp_path: Path) -> None:
    url = server.serve("/file.bin", Page(CONTENT, length=False))
    assert fetched(tmp_path, url) == CONTENT


def test_wrong_bytes_are_refused_and_leave_nothing(server: Server, tmp_path: Path) -> None:
    url = server.serve("/file.bin", Page(CONTENT[:-1] + b"!"))
    with pytest.raises(DataError, match=r"serves another file: 300,000 bytes with SHA-256 .* expected"):
        fetch(download(url), tmp_path, ignored)
    assert left_in(tmp_path) == []
    with pytest.raises(DataError, match="300,000 bytes, not 299,999"):
        fetch(download(url, sha256="", size=299_999), tmp_path, ignored)


def test_mirrors_are_tried_in_order(server: Server, tmp_path: Path) -> None:
    gone = f"{server.address}/gone"
    wrong = server.serve("/wrong", Page(b"something else"))
    right = server.serve("/right", Page(CONTENT))
    said: list[str] = []
    got = fetch(download(gone, wrong, right), tmp_path, said.append)
    assert got.url == right
    assert "answers 404" in said[0]
    assert "serves another file" in said[1]


def test_a_mirror_that_lacks_the_file_leaves_what_another_one_gave(server: Server, tmp_path: Path) -> None:
    first = server.serve("/first", Page(CONTENT, cuts=1, cut_after=80_000))
    addresses = (f"{server.address}/absent", first, f"{server.address}/absent")
    with pytest.raises(DataError, match=r"cut at 80,000 of 300,000 bytes, 1 times; .*/absent: answers 404"):
        fetch(download(*addresses), tmp_path, ignored, patience=Patience(attempts=1))
    assert fetched(tmp_path, *addresses) == CONTENT
    assert server.requests[-1] == ("/first", "bytes=80000-")


def test_errors_that_pass_are_tried_again_with_growing_pauses(server: Server, tmp_path: Path, pauses: list[float]) -> None:
    url = server.serve("/file.bin", Page(CONTENT, errors=[500, 502, 503]))
    assert fetched(tmp_path, url) == CONTENT
    assert pauses == [1.0, 2.0, 4.0]
    server.serve("/file.bin", Page(CONTENT, errors=[500] * 9))
    (tmp_path / "new").mkdir()
    with pytest.raises(DataError, match="answers 500 Internal Server Error, 4 times"):
        fetch(download(url), tmp_path / "new", ignored)
    assert pauses == [1.0, 2.0, 4.0, 1.0, 2.0, 4.0]


def test_redirects_are_followed_a_few_times_and_only_to_the_web(server: Server, tmp_path: Path) -> None:
    server.serve("/file.bin", Page(CONTENT))
    server.serve("/b", Page(redirect="/file.bin"))
    assert fetched(tmp_path, server.serve("/a", Page(redirect="/b"))) == CONTENT
    secret = tmp_path / "secret"
    secret.write_text("secret")
    (tmp_path / "out").mkdir()
    for target in (f"file://{secret}", "ftp://127.0.0.1/x"):
        with pytest.raises(DataError, match=r"not allowed|not http or https"):
            fetch(download(server.serve("/c", Page(redirect=target)), sha256=""), tmp_path / "out", ignored)
    with pytest.raises(DataError, match="302"):
        fetch(download(server.serve("/loop", Page(redirect="/loop")), sha256=""), tmp_path / "out", ignored)
    with pytest.raises(DataError, match="is not an http or https address"):
        fetch(download(f"file://{secret}", sha256=""), tmp_path / "out", ignored)
    assert left_in(tmp_path / "out") == []


def test_a_log_in_page_is_no_data_and_silence_is_no_answer(server: Server, tmp_path: Path, pauses: list[float]) -> None:
    page = Page(b"<!DOCTYPE html><html><body>Please log in</body></html>", kind="text/html")
    with pytest.raises(DataError, match="serves a web page"):
        fetch(download(server.serve("/login", page), sha256=""), tmp_path, ignored)
    assert pauses == []
    with pytest.raises(DataError, match=r"cannot be reached: .*refused, 4 times"):
        fetch(download("http://127.0.0.1:9/x"), tmp_path, ignored)
    assert left_in(tmp_path) == []


# ---------------------------------------------------------------- the command, end to end

CLAIM = '<CLAIM ASSERTION="{0}" QUESTION="Does it help?" PMID="{1}">It may {1}.</CLAIM>'
CORPUS = "<C><REVIEW>" + "".join(CLAIM.format("YS" if i % 3 else "NO", i) for i in range(259)) + "</REVIEW></C>"


def run(*arguments: str) -> tuple[int, str]:
    outcome = CliRunner().invoke(main, ["data", *arguments], catch_exceptions=False)
    return outcome.exit_code, outcome.output


def test_fetch_ends_in_a_ready_data_set_and_a_lock(server: Server, tmp_path: Path) -> None:
    server.serve("/BioC/corpus.xml", Page(CORPUS.encode(), cuts=1, cut_after=999))
    root = tmp_path / "data"
    code, said = run("fetch", "BioC", "-d", str(root), "--mirror", f"{server.address}/", "--quiet")
    assert code == 0
    assert "no hash is published" in said
    assert "BioC: ready: 259 rows" in said
    assert (root / "BIOC/corpus.xml").read_text() == CORPUS
    assert read_lock(root)["BioC/corpus.xml"].sha256 == hashlib.sha256(CORPUS.encode()).hexdigest()
    assert not list(root.glob(".preparing-*"))
    # Again, without the network.
    server.pages.clear()
    assert run("fetch", "BioC", "-d", str(root), "--offline")[0] == 0


def test_a_changed_file_is_refused_until_it_is_accepted(server: Server, tmp_path: Path) -> None:
    root = tmp_path / "data"
    server.serve("/BioC/corpus.xml", Page(CORPUS.encode()))
    assert run("fetch", "BioC", "-d", str(root), "--mirror", server.address, "--quiet")[0] == 0
    changed = CORPUS.replace("It may 7.", "It may not.")
    server.serve("/BioC/corpus.xml", Page(changed.encode()))
    (root / DOWNLOADS / "BioC/corpus.xml").unlink()
    options = ("-d", str(root), "--mirror", server.address, "--quiet")
    code, said = run("fetch", "BioC", *options)
    assert code == 2
    assert "--accept-changed" in said
    assert (root / "BIOC/corpus.xml").read_text() == CORPUS
    code, said = run("fetch", "BioC", *options, "--accept-changed")
    assert code == 2
    assert "--replace" in said
    assert run("fetch", "BioC", *options, "--accept-changed", "--replace")[0] == 0
    assert (root / "BIOC/corpus.xml").read_text() == changed
    assert read_lock(root)["BioC/corpus.xml"].sha256 == hashlib.sha256(changed.encode()).hexdigest()
    code, said = run("fetch", "BioC", *options)
    assert (code, "is trusted from now on" in said) == (0, False)


def test_fetch_says_what_a_program_cannot_do(tmp_path: Path) -> None:
    code, said = run("fetch", "MedNLI", "-d", str(tmp_path / "d"))
    assert code == 2
    assert "credentialed: sign the data use agreement" in said
    assert "https://physionet.org" in said
    code, said = run("fetch", "RQE", "-d", str(tmp_path / "d"), "--offline")
    assert code == 2
    assert "is not there; fetch it without --offline" in said
    code, said = run("fetch", "RQE")
    assert code == 2
    assert "no data folder to write into" in said


def test_offline_checks_what_was_downloaded(server: Server, tmp_path: Path) -> None:
    folder = tmp_path / DOWNLOADS / "RQE"
    folder.mkdir(parents=True)
    (folder / "RQE_Train_8588_AMIA2016.xml").write_text("<RQE-med-train/>")
    code, said = run("fetch", "RQE", "-d", str(tmp_path), "--offline")
    assert code == 2
    assert "has the SHA-256" in said


@pytest.mark.parametrize(
    "content", ["{", "[]", '{"schema": 2}', '{"schema": 1, "files": {"a": {"sha256": "x", "size": 1, "url": ""}}}']
)
def test_a_lock_file_that_is_none_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / LOCK_NAME).write_text(content)
    with pytest.raises(DataError, match=r"data\.lock\.json: not a lock file"):
        read_lock(tmp_path)


def test_folders_that_cannot_be_written_are_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    code, said = run("fetch", "BioC", "-d", str(tmp_path / "file" / "deeper"))
    assert code == 2
    assert said.startswith(f"Error: {tmp_path / 'file'}")
    assert said.endswith("name another place\n")
    code, said = run("fetch", "BioC", "-d", str(tmp_path / "file"))
    assert code == 2
    assert "is not a folder" in said


def test_a_part_that_cannot_be_written_is_an_error_of_this_machine(server: Server, tmp_path: Path) -> None:
    url = server.serve("/file.bin", Page(CONTENT))
    (tmp_path / ".file.bin.part").mkdir()
    with pytest.raises(DataError, match=r"\.file\.bin\.part: cannot be written: Is a directory; is there room"):
        fetch(download(url), tmp_path, ignored)


def test_an_encrypted_address_never_leads_to_one_that_is_not() -> None:
    import urllib.request

    from medsenteval.datasets.download import _Failure, _Redirects

    request = urllib.request.Request("https://a.org/x")
    with pytest.raises(_Failure, match="from an encrypted address"):
        _Redirects().redirect_request(request, None, 302, "Found", {}, "http://a.org/x")
    with pytest.raises(_Failure, match="not http or https"):
        _Redirects().redirect_request(request, None, 302, "Found", {}, "gopher://a.org/x")
    followed = _Redirects().redirect_request(request, None, 302, "Found", {}, "https://b.org/x")
    assert followed.full_url == "https://b.org/x"


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_how_much_of_which_file_has_come(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = server.serve("/file.bin", Page(CONTENT, cuts=1, cut_after=90_000))
    for quiet, screen in ((True, Terminal()), (False, StringIO()), (False, Terminal())):
        monkeypatch.setattr(sys, "stderr", screen)
        with pytest.raises(DataError, match="serves another file"):
            fetch(download(url, sha256="0" * 64), tmp_path, ignored, quiet)
        drawn = screen.getvalue()
        assert bool(drawn) == (screen.isatty() and not quiet)
    assert "\rfile.bin:   0%|" in drawn
    assert "/300k [" in drawn


def test_a_part_file_of_something_else_is_found_out(server: Server, tmp_path: Path) -> None:
    (tmp_path / ".file.bin.part").write_bytes(b"junk")
    url = server.serve("/file.bin", Page(CONTENT))
    assert fetched(tmp_path, url) == CONTENT
    assert [wanted for _, wanted in server.requests] == ["bytes=4-", ""]
    assert left_in(tmp_path) == ["file.bin"]


def test_a_file_of_just_the_largest_size_is_stored(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (Patience(), module._PAUSE, module._LARGEST) == ((4, 30.0), 1.0, 8 * 1024**3)
    for length in (True, False):
        url = server.serve(f"/{length}", Page(CONTENT, length=length))
        monkeypatch.setattr(module, "_LARGEST", len(CONTENT))
        (tmp_path / str(length)).mkdir()
        got = fetch(download(url, size=len(CONTENT)), tmp_path / str(length), ignored)
        assert (got.size, got.sha256, got.url) == (len(CONTENT), DIGEST, url)
        monkeypatch.setattr(module, "_LARGEST", len(CONTENT) - 1)
        with pytest.raises(DataError, match=r"serves another file: 300,000 bytes$|sends more than the 299,999 bytes"):
            fetch(download(url), tmp_path, ignored)
    assert left_in(tmp_path) == ["False", "True"]


PASSING, LASTING = (408, 425, 429, 500, 502, 503, 504), (401, 403, 404, 410, 501)


@pytest.mark.parametrize("code", [*PASSING, *LASTING])
def test_some_errors_pass_and_others_stay(server: Server, tmp_path: Path, code: int) -> None:
    url = server.serve("/file.bin", Page(CONTENT, errors=[code] * 4))
    said: list[str] = []
    with pytest.raises(DataError, match=f"answers {code} "):
        fetch(download(url), tmp_path, said.append)
    assert len(said) == (4 if code in PASSING else 1)

"""Code blocks of Markdown pages: found, and run or at least checked.

A page is written for its reader; what a test needs to know stands in HTML comments that are not shown.

- ```` ```sh ```` blocks hold one command a line (``\\`` continues it, ``#`` begins a comment): ``medsenteval ...`` or
  ``export NAME=VALUE``. They run in order in the page's own folder, which has the files of ``page_folder``.
- ```` ```python ```` blocks run in order in one namespace.
- ``<!-- not run: REASON -->`` on the line before a block says why it cannot run here. Its commands and options must exist all
  the same, its Python must compile.
- ``<!-- file: NAME -->`` before a block writes it to the page's folder, ``<!-- exit code N: REASON -->`` expects that code.
- ``<!-- printed by: COMMAND -->`` before a block of text: every line of it must be among what the command prints.
- ``<!-- before:`` ... ``-->`` holds commands that run without being shown.
- ```` ```toml ```` and ```` ```json ```` blocks must be well-formed; ```` ```text ```` blocks are left alone; no others may be.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import click
from click.testing import CliRunner

from medsenteval import registry
from medsenteval.cli.main import main
from medsenteval.datasets.locate import sample_root
from medsenteval.encoders.recipes import Recipe

FENCE = re.compile(r"^(```+)(\w*)\s*$")
MARK = re.compile(r"^<!-- (not run|file|printed by|exit code \d+): (.+) -->$")
INLINE = re.compile(r"(?<!`)`(medsenteval [^`]+)`(?!`)")

ONTOLOGY = """format-version: 1.2
ontology: invented

[Term]
id: EX:1
name: Finding of the eye

[Term]
id: EX:2
name: Finding of the ear

[Term]
id: EX:3
name: Finding of growth

[Typedef]
id: mirrors
name: mirrors
"""


#: Category of the ontology -> findings in it, which are left or right and of three grades.
FINDINGS = {1: ("myopia", "cataract"), 2: ("tinnitus", "otitis"), 3: ("short stature", "gigantism")}
GRADES = ("mild", "severe", "chronic")


@dataclass(frozen=True)
class Block:
    """A code block with the marks before it and the line it begins at."""

    page: Path
    line: int
    language: str
    text: str
    not_run: str = ""
    file: str = ""
    exit_code: int = 0
    printed_by: str = ""

    @property
    def place(self) -> str:
        return f"{self.page.name}:{self.line}"


def blocks(page: Path) -> Iterator[Block]:
    """Yield the blocks of a page in order; an indented block or a wrong fence is an error with its line."""
    lines = page.read_text("utf-8").splitlines()
    number = 0
    marks: dict[str, str] = {}
    while number < len(lines):
        line, number = lines[number], number + 1
        start = number
        if line == "<!-- before:":
            end = lines.index("-->", number)
            yield Block(page, start, "sh", "\n".join(lines[number:end]))
            number, marks = end + 1, {}
        elif mark := MARK.match(line):
            marks[mark[1].rstrip(" 0123456789")] = mark[2] if mark[1][-1].isalpha() else mark[1].split()[-1]
        elif line.startswith("<!--") and not line.startswith("<!-- generated: "):
            raise AssertionError(f"{page.name}:{start}: {line!r} is no mark that the test knows")
        elif fence := FENCE.match(line):
            end = lines.index(fence[1], number)
            yield Block(
                page,
                start,
                fence[2],
                "\n".join(lines[number:end]),
                marks.get("not run", ""),
                marks.get("file", ""),
                int(marks.get("exit code", 0)),
                marks.get("printed by", ""),
            )
            number, marks = end + 1, {}
        elif line.lstrip().startswith("```"):
            raise AssertionError(f"{page.name}:{start}: a fence must begin at the margin and name its language only")
        elif line.startswith(("    ", "\t")) and (number < 2 or not lines[number - 2].strip()):
            yield Block(page, start, "indented", line.strip())
        else:
            if line.strip() and marks:
                raise AssertionError(f"{page.name}:{start}: a mark must stand on the line before its block")


def commands(text: str) -> Iterator[list[str]]:
    """Yield the words of each command of a block, without comments and prompts."""
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words:
            yield words


def page_folder(folder: Path) -> Path:
    """Make what every page may suppose: a data folder, word vectors, an ontology, small tables and lists."""
    (folder / "my-data").symlink_to(sample_root(), target_is_directory=True)
    words = {"left", "right", "on", "the", *GRADES, *(word for found in FINDINGS.values() for word in " ".join(found).split())}
    for file in (*sample_root().glob("*/*.txt"), *sample_root().glob("*/*.jsonl"), *sample_root().glob("wordsim/*.csv")):
        words |= set(re.findall(r"[a-z]+", file.read_text("utf-8").casefold()))
    rows = (f"{word} {len(word)} " + " ".join(str(word.count(letter)) for letter in "aeioustrnl") for word in sorted(words))
    (folder / "glove.6B.100d.txt").write_text("\n".join(rows) + "\n", "utf-8")
    terms = [
        f"[Term]\nid: EX:{100 * parent + n}\nname: {side} {what} {grade}\n"
        f'synonym: "{grade} {what} on the {side}" EXACT []\nis_a: EX:{parent}\n'
        f"relationship: mirrors EX:{100 * parent + (n + 3) % 6 + n // 6 * 6}\n"
        for parent, whats in FINDINGS.items()
        for n, (what, side, grade) in enumerate(
            (what, side, grade) for what in whats for side in ("left", "right") for grade in GRADES
        )
    ]
    (folder / "frequency.tsv").write_text("".join(f"{word}\t{20 - len(word)}\n" for word in sorted(words)), "utf-8")
    notes = [
        (f"P{i // 2}", f"case {i} {'stable, sent home' if i % 2 else 'in shock'}", ("high", "low")[i % 2]) for i in range(48)
    ]
    lines = ["patient,note,severity", *(f'{patient},"{note}",{severity}' for patient, note, severity in notes)]
    (folder / "notes.csv").write_text("\n".join(lines) + "\n", "utf-8")
    (folder / "my_scores.csv").write_text("encoder,intrinsic,extrinsic\na,1,2\nb,2,3\nc,4,3.5\nd,5,6\n", "utf-8")
    for name, findings in zip(("near", "close", "distant"), FINDINGS.values(), strict=True):
        (folder / f"{name}.txt").write_text("".join(f"{g} {what}\n" for g in GRADES for what in findings), "utf-8")
    (folder / "hp.obo").write_text(ONTOLOGY + "\n" + "\n".join(terms), "utf-8")
    return folder


def run_block(block: Block, namespace: dict[str, object]) -> None:
    """Run a block in the current folder, or check it where it is marked as not run here."""
    if block.file:
        Path(block.file).parent.mkdir(parents=True, exist_ok=True)
        Path(block.file).write_text(block.text + "\n", "utf-8")
    if block.language == "sh":
        for words in commands(block.text):
            _run(block, words)
    elif block.language == "python":
        compiled = compile(block.text, block.place, "exec")
        if not block.not_run:
            exec(compiled, namespace)
    elif block.language == "toml":
        import_module("tomllib" if sys.version_info >= (3, 11) else "tomli").loads(block.text)
    elif block.language == "json":
        json.loads(block.text)
    elif block.language == "text" and block.printed_by:
        printed = CliRunner().invoke(main, shlex.split(block.printed_by)[1:]).output
        shown = {" ".join(line.replace("-", " ").split()) for line in printed.splitlines()}
        for line in block.text.splitlines():
            assert " ".join(line.replace("-", " ").split()) in shown, f"{block.place}: {line!r} is not printed\n{printed}"
    elif block.language != "text":
        raise AssertionError(f"{block.place}: a block of {block.language or 'no language'!r} is neither run nor checked")


def assert_page_runs(page: Path) -> None:
    """Run every block of a page in the current folder."""
    namespace: dict[str, object] = {"__name__": "page"}
    for block in blocks(page):
        # The README's two commands, which a newcomer copies: tests/test_install.py and CI run them.
        if block.language != "indented" or page.name != "README.md" or not block.text.startswith("python3 -m venv .venv && "):
            run_block(block, namespace)


def _run(block: Block, words: list[str]) -> None:
    line = shlex.join(words)
    if words[0] == "medsenteval":
        assert_command_exists(block.place, words[1:])
        if block.not_run:
            return
        finished = CliRunner().invoke(main, words[1:])
        assert finished.exit_code == block.exit_code, (
            f"{block.place}: `{line}` ended with {finished.exit_code}\n{finished.output}\n{finished.exception!r}"
        )
    elif words[0] == "export" and len(words) == 2 and "=" in words[1]:
        if not block.not_run:
            name, value = words[1].split("=", 1)
            os.environ[name] = os.path.expanduser(value)
    else:
        assert block.not_run, f"{block.place}: `{line}` is neither run nor marked `<!-- not run: REASON -->`"


def assert_command_exists(place: str, words: list[str]) -> None:
    """Fail unless this command and all its options exist, their choices are allowed, and its tasks and encoders are known."""
    command: click.Command = main
    context = main.make_context("medsenteval", [], resilient_parsing=True)
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        found = command.get_command(context, words[0])
        assert found is not None, f"{place}: there is no command {words[0]!r}"
        command, context, words = found, click.Context(found, parent=context, info_name=words[0]), words[1:]
    try:
        values, left, _ = command.make_parser(context).parse_args(list(words))
    except click.UsageError as error:
        raise AssertionError(f"{place}: {error.format_message()}") from error
    assert not left, f"{place}: {left} is too much"
    for parameter in command.params:
        given = values.get(parameter.name)
        each = [] if given is None else given if isinstance(given, (list, tuple)) else [given]
        for value in each:
            _check_value(place, parameter, value)


def _check_value(place: str, parameter: click.Parameter, value: object) -> None:
    if isinstance(parameter.type, click.Choice):
        assert value in parameter.type.choices, f"{place}: {parameter.name} cannot be {value!r}"
    elif parameter.name in ("tasks", "task_names") and "NAME" not in str(value):
        registry.select_tasks(str(value))
    elif parameter.name in ("encoder", "encoders", "specs") and "=" not in str(value).partition(":")[0].partition(",")[0]:
        kind, _, options = registry.parse_encoder_spec(str(value))
        if kind in ("...", "ENCODER", "SPEC"):
            return
        name, recipe = registry.encoder_name(kind)
        loader = registry.encoder_loader(recipe.kind if isinstance(recipe, Recipe) else name)
        known = {*inspect.signature(loader).parameters, "name"}
        assert set(options) <= known, f"{place}: {kind} has no option {sorted(set(options) - known)}"

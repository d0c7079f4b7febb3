"""Write docs/tasks/NAME.md for every task from its Task, its manifest and docs/known_flaws.toml.

python -m docs.task_pages            write the pages
python -m docs.task_pages --check    say which pages are not what would be written; exit code 1 if there are any
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from textwrap import fill
from typing import Any

from medsenteval import registry
from medsenteval.contracts import Task
from medsenteval.datasets.manifest import Manifest, manifest
from medsenteval.errors import UnknownNameError
from medsenteval.registry import TASK_GROUPS
from medsenteval.settings import Settings

FOLDER = Path(__file__).parent
FLAWS = FOLDER / "known_flaws.toml"

GROUPS = {
    "sentence": "The ten sentence tasks of MedSentEval",
    "word": "Biomedical word similarity",
    "word-general": "General word similarity",
    "concepts": "Concept normalisation",
    "analogy": "Analogies",
    "ner": "Named entities",
    "diagnostics": "Diagnostics",
    "bio-probing": "Biomedical probing",
    "general": "SentEval's tasks",
    "probing": "SentEval's probing tasks",
}
#: Protocol -> how a score is made; others are described on the page that the group names.
PROTOCOLS = {
    "split": "the probe's penalty is chosen on dev, the probe is trained on train and scored on test",
    "kfold": "the probe's penalty is chosen by cross-validation over train, the probe is trained on train and scored on test",
    "nested": "outer cross-validation; in each fold an inner one chooses the penalty; scores are means over the outer folds",
    "cosine": "nothing is trained: cosines are correlated with the gold scores",
    "relatedness": "a softmax over grades is trained on the vectors and stopped on dev",
    "window-tagger": "a small tagger is trained on the word vectors",
    "leave-one-synonym-out": "nothing is trained: each synonym is looked up among all other names",
    "linking": "nothing is trained: each mention is looked up among the names of a dictionary",
    "analogy": "nothing is trained: all candidates are ranked for every question",
}
MORE = {
    "sentence": "protocols.md",
    "word": "word-tasks.md",
    "word-general": "word-tasks.md",
    "concepts": "concepts.md",
    "analogy": "analogies.md",
    "ner": "ner.md",
    "diagnostics": "diagnostics.md",
    "bio-probing": "diagnostics.md",
    "general": "general-tasks.md",
    "probing": "general-tasks.md",
}
NO_BASELINE = "the best constant answer on the very items scored; printed beside every score"
HEAD = "<!-- generated: python -m docs.task_pages writes this page; edit docs/known_flaws.toml or the task instead -->"


def pages() -> dict[str, str]:
    """Return every page by its file name."""
    toml = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    said: dict[str, dict[str, Any]] = toml.loads(FLAWS.read_text("utf-8"))
    known = {*TASK_GROUPS, *(name for table in TASK_GROUPS.values() for name in table)}
    if strangers := sorted(set(said) - known):
        raise SystemExit(f"{FLAWS.name}: {', '.join(strangers)}: neither a task nor a group of tasks")
    found = {"index.md": _index()}
    for group, table in TASK_GROUPS.items():
        for name in table:
            found[f"{name}.md"] = _page(registry.task(name), group, said.get(group, {}), said.get(name, {}))
    return found


def _index() -> str:
    lines = [
        HEAD,
        "",
        "# The tasks",
        "",
        "Each page says where a data set comes from, under what licence, how it is split and scored, what is wrong with it,",
        "and what a constant answer scores. `medsenteval run -t NAME` takes a task, a group, or several, separated by commas.",
    ]
    for group, title in GROUPS.items():
        lines += ["", f"## {title} (`-t {group}`)", "", "| task | kind | protocol | shown | access |", "|---|---|---|---|---|"]
        for task in map(registry.task, TASK_GROUPS[group]):
            cells = [
                f"[{task.name}]({task.name}.md)",
                task.family,
                task.protocol.split(":")[0],
                ", ".join(task.metrics),
                task.access,
            ]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _page(task: Task, group: str, of_group: dict[str, Any], of_task: dict[str, Any]) -> str:
    try:
        source: Manifest | None = manifest(task.name)
    except UnknownNameError:
        source = None
    question = of_task.get("question", of_group.get("question", ""))
    lines = [HEAD, "", f"# {task.name}", ""]
    lines += [question, ""] if question else []
    aliases = TASK_GROUPS[group][task.name][1]
    facts = {
        "Group": f"`{group}`" + (f"; also called {', '.join(aliases)}" if aliases else ""),
        "Kind": task.family,
        "Labels": ", ".join(task.labels) if len(task.labels) <= 12 else f"{len(task.labels)} classes",
        "Splits, rows published": ", ".join(f"{split} {rows:,}" for split, rows in task.published_counts.items()),
        "Cite": task.citation,
        "Licence": task.licence,
        "Access": task.access,
        "Official page": f"<{source.page}>" if source else "",
    }
    lines += ["| | |", "|---|---|", *(f"| {key} | {_cell(value)} |" for key, value in facts.items() if value), ""]
    lines += ["## How to get it", "", *_obtaining(task, source), ""]
    lines += ["## How it is scored", "", *_scoring(task, group), ""]
    lines += [
        "## What a constant answer scores",
        "",
        _sentence(of_task.get("baseline", of_group.get("baseline", NO_BASELINE))),
        "",
    ]
    flaws = [*of_task.get("flaws", ()), *of_group.get("flaws", ())]
    lines += ["## Known flaws", ""]
    lines += [f"- {flaw}" for flaw in flaws] if flaws else ["None that we know of; that is not the same as none."]
    return "\n".join(map(_wrapped, lines)) + "\n"


def _wrapped(line: str) -> str:
    """Break a long line of prose; tables stay as they are."""
    if line.startswith("|"):
        return line
    indent = "  " if line.startswith("- ") else ""
    return fill(line, 118, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _obtaining(task: Task, source: Manifest | None) -> list[str]:
    if source is None:
        return [_sentence(task.obtain)]
    lines = []
    if source.downloads and source.access == "open":
        lines += [
            f"`medsenteval data fetch {source.name}` downloads, verifies and prepares it. By hand: {_sentence(task.obtain)}",
            "",
        ]
    else:
        command = f"`medsenteval data prepare {source.name} --from WHAT-YOU-HAVE`"
        lines += [f"{_sentence(task.obtain)} Or hand over what you got: {command} recognises the files and checks them.", ""]
    lines += [source.note, ""] if source.note else []
    for layout, files in source.layouts.items():
        names = ", ".join(f"`{file.path}`" + (f" ({file.rows:,} rows)" if file.rows else "") for file in files)
        lines.append(f"- Files, {layout}, in `{source.folder}/`: {names}")
    return lines


def _scoring(task: Task, group: str) -> list[str]:
    described = PROTOCOLS.get(task.protocol, task.protocol)
    protocol = task.protocol_under(Settings())
    lines = [f"`{protocol}`: {described}." if described != task.protocol else f"{described}."]
    lines[0] += (
        f" Shown: {', '.join(task.metrics)}, with a 95 % interval. More: [{MORE[group].removesuffix('.md')}](../{MORE[group]})."
    )
    if task.groups_are and task.protocol in ("kfold", "nested"):
        lines.append(f"With `--grouped`, all rows of a {task.groups_are} stay in one fold.")
    if task.options:
        lines += ["", "| option | values, the default first |", "|---|---|"]
        lines += [f"| `--option {task.name}.{key}=` | {', '.join(values)} |" for key, values in task.options.items()]
    return lines


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".") + "."


def main(arguments: list[str]) -> int:
    folder, wanted = FOLDER / "tasks", pages()
    present = {path.name: path.read_text("utf-8") for path in folder.glob("*.md")} if folder.is_dir() else {}
    stale = sorted(name for name in {*wanted, *present} if wanted.get(name) != present.get(name))
    if "--check" in arguments:
        print(
            f"not up to date: {', '.join(stale)}; run python -m docs.task_pages"
            if stale
            else f"{len(wanted)} pages are up to date"
        )
        return 1 if stale else 0
    folder.mkdir(exist_ok=True)
    for name in stale:
        if name in wanted:
            (folder / name).write_text(wanted[name], "utf-8")
        else:
            (folder / name).unlink()
    print(f"{len(wanted)} pages, {len(stale)} of them new or changed")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""``medsenteval doctor``: what is wrong with this installation, the data or an encoder."""

from __future__ import annotations

import sys

import click

from medsenteval import registry
from medsenteval.cli.commands import BAD_INPUT
from medsenteval.cli.shared import DATA, echo, task_names
from medsenteval.datasets.locate import data_root
from medsenteval.doctor.encoder import examine_encoder
from medsenteval.doctor.findings import Finding, describe
from medsenteval.doctor.installation import examine_data, examine_installation
from medsenteval.errors import MedSentEvalError


@click.command()
@click.option("-e", "--encoder", "encoders", multiple=True, metavar="SPEC", help="Examine this encoder too; can be repeated.")
@DATA
@task_names("Tasks whose data is looked at; default sentence.", "sentence")
def doctor(encoders: tuple[str, ...], data: str | None, tasks: str) -> None:
    """Check the installation, the data and an encoder, and say what to fix; exit code 2 if there is a problem."""
    sections = [("Installation", examine_installation())]
    try:
        sections.append(("Data", examine_data(registry.select_tasks(tasks), data_root(data))))
    except MedSentEvalError as error:
        sections.append(("Data", [Finding("data folder", "problem", str(error))]))
    for spec in encoders:
        try:
            findings = examine_encoder(registry.load_encoder(spec))
        except MedSentEvalError as error:
            findings = [Finding("loading", "problem", str(error))]
        sections.append((f"Encoder {spec}", findings))
    for title, findings in sections:
        echo(f"{title}\n{'-' * len(title)}\n{describe(findings)}\n")
    problems = sum(finding.severity == "problem" for _, findings in sections for finding in findings)
    echo(f"{problems} problem(s)" if problems else "No problems.")
    if problems:
        sys.exit(BAD_INPUT)

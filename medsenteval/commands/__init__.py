"""The commands of the command line, one module each; a module is imported when its command is called, not before."""

from typing import Final

__all__ = ["BAD_INPUT", "COMMANDS", "DATA_ABSENT"]

#: Exit code for wrong usage, unreadable data or a broken encoder.
BAD_INPUT: Final = 2
#: Exit code when tasks were left out because their data is absent and all others were scored.
DATA_ABSENT: Final = 3

#: Command -> (module:attribute, what --help says of it without importing it).
COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "analogies": ("medsenteval.commands.analogies:analogies", "Make analogies from relations; draw what they scored."),
    "cache": ("medsenteval.commands.cache:cache", "The embedding cache: what is in it, what can go."),
    "compare": ("medsenteval.commands.compare:compare", "Compare encoders with paired tests and published numbers."),
    "correlate": ("medsenteval.commands.correlate:correlate", "Correlate scores over encoders: do some predict others?"),
    "curve": ("medsenteval.commands.curve:curve", "Show learning curves: scores by number of training rows."),
    "data": ("medsenteval.commands.data:data", "The data sets: status, where, show, fetch, prepare, quality, export, import."),
    "doctor": ("medsenteval.commands.doctor:doctor", "Check the installation, the data and an encoder; say what to fix."),
    "encoders": ("medsenteval.commands.encoders:encoders", "List the kinds of encoder and the published encoders."),
    "export-mteb": ("medsenteval.commands.export_mteb:export_mteb", "Write results as mteb's result files."),
    "figures": ("medsenteval.commands.figures:figures", "Write the report's figures as SVG, PNG or PDF files."),
    "gap": ("medsenteval.commands.gap:gap", "Show what encoders lose between general and biomedical text."),
    "published": (
        "medsenteval.commands.published:published",
        "Show the literature's numbers, with source, protocol and doubts.",
    ),
    "report": ("medsenteval.commands.report:report", "Make one page of results that opens offline."),
    "reproduce": ("medsenteval.commands.reproduce:reproduce", "Run a published table again and show the differences."),
    "run": ("medsenteval.commands.run:run", "Score encoders on tasks and print a table like the paper's Table 3."),
    "subsets": ("medsenteval.commands.subsets:subsets", "Score word similarity by word frequency or any value of words."),
    "tasks": ("medsenteval.commands.tasks:tasks", "List the tasks and whether their data is there."),
    "terms": (
        "medsenteval.commands.terms:terms",
        "Similar and dissimilar medical terms from terminologies: build, evaluate, separate, annotate.",
    ),
    "train-infersent": (
        "medsenteval.encoders.infersent_training:train_infersent_command",
        "Train InferSent on a data set in MedNLI's format.",
    ),
}

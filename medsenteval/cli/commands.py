"""The table of commands: a module is imported when its command is called, not before."""

from typing import Final

#: Exit code for wrong usage, unreadable data or a broken encoder.
BAD_INPUT: Final = 2
#: Exit code when tasks were left out because their data is absent and all others were scored.
DATA_ABSENT: Final = 3
#: Exit code after Ctrl-C, as shells have it.
INTERRUPTED: Final = 130

#: Command -> (module:attribute, what --help says of it without importing it).
COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "analogies": ("medsenteval.cli.analogies:analogies", "Make analogies from relations; draw what they scored."),
    "audit": ("medsenteval.cli.audit:audit", "Does the ranking survive? Score again from cached vectors."),
    "cache": ("medsenteval.cli.cache:cache", "The embedding cache: what is in it, what can go."),
    "compare": ("medsenteval.cli.compare:compare", "Compare encoders with paired tests and published numbers."),
    "correlate": ("medsenteval.cli.prediction:correlate", "Correlate scores over encoders: do some predict others?"),
    "curve": ("medsenteval.cli.learning_curve:curve", "Show learning curves: scores by number of training rows."),
    "data": (
        "medsenteval.cli.data:data",
        "The data sets, and your own: status, show, describe, fetch, prepare, ...",
    ),
    "doctor": ("medsenteval.cli.doctor:doctor", "Check the installation, the data and an encoder; say what to fix."),
    "encoders": ("medsenteval.cli.encoders:encoders", "List the kinds of encoder and the published encoders."),
    "export": ("medsenteval.cli.export:export", "Hand results over: mteb's result files, a block for a model card."),
    "figures": ("medsenteval.cli.figures:figures", "Write the report's figures as SVG, PNG or PDF files."),
    "frontier": ("medsenteval.cli.frontier:frontier", "Show bytes per vector against score, from cached vectors."),
    "gap": ("medsenteval.cli.domain_gap:gap", "Show what encoders lose between general and biomedical text."),
    "published": (
        "medsenteval.cli.published:published",
        "Show the literature's numbers, with source, protocol and doubts.",
    ),
    "ratings": ("medsenteval.cli.ratings:ratings", "Measure how far annotators of word pairs agree; make scores of ratings."),
    "report": ("medsenteval.cli.report:report", "Make one page of results that opens offline."),
    "reproduce": ("medsenteval.cli.reproduce:reproduce", "Run a published table again and show the differences."),
    "results": ("medsenteval.cli.result_bundles:results", "Pack results for others, verify theirs, add them to a folder."),
    "run": ("medsenteval.cli.run:run", "Score encoders on tasks and print a table like the paper's Table 3."),
    "subsets": ("medsenteval.cli.word_subsets:subsets", "Score word similarity by word frequency or any value of words."),
    "tasks": ("medsenteval.cli.tasks:tasks", "List the tasks and whether their data is there."),
    "terms": (
        "medsenteval.cli.terms:terms",
        "Similar and dissimilar medical terms from terminologies: build, evaluate, separate, annotate.",
    ),
    "train-infersent": (
        "medsenteval.cli.train_infersent:train_infersent",
        "Train InferSent on a data set in MedNLI's format.",
    ),
}

#: How --help groups the commands; one that stands in no group is shown with the housekeeping.
COMMAND_GROUPS: Final[dict[str, tuple[str, ...]]] = {
    "Every day": ("run", "compare", "report", "data", "tasks", "encoders"),
    "Results": ("audit", "frontier", "figures", "gap", "curve", "correlate", "export", "results"),
    "Words and terms": ("terms", "analogies", "subsets", "ratings"),
    "Papers": ("published", "reproduce"),
    "Housekeeping": ("doctor", "cache", "train-infersent"),
}

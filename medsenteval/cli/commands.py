"""The table of commands: a module is imported when its command is called, not before."""

from typing import Final

#: Exit code for wrong usage, unreadable data or a broken encoder.
BAD_INPUT: Final = 2
#: Exit code when tasks were left out because their data is absent and all others were scored.
DATA_ABSENT: Final = 3
#: Exit code after Ctrl-C, as shells have it.
INTERRUPTED: Final = 130

#: Group of --help -> command -> (module in this folder, what --help says of it without importing that).
COMMAND_GROUPS: Final[dict[str, dict[str, tuple[str, str]]]] = {
    "Every day": {
        "run": ("run", "Score encoders on tasks and print a table like the paper's Table 3."),
        "compare": ("compare", "Compare encoders with paired tests and published numbers."),
        "report": ("report", "Make one page of results that opens offline."),
        "data": ("data", "The data sets, and your own: status, show, describe, fetch, prepare, ..."),
        "tasks": ("tasks", "List the tasks and whether their data is there."),
        "encoders": ("encoders", "List the kinds of encoder and the published encoders."),
    },
    "Results": {
        "audit": ("audit", "Does the ranking survive? Score again from cached vectors."),
        "frontier": ("frontier", "Show bytes per vector against score, from cached vectors."),
        "figures": ("figures", "Write the report's figures as SVG, PNG or PDF files."),
        "gap": ("domain_gap", "Show what encoders lose between general and biomedical text."),
        "curve": ("learning_curve", "Show learning curves: scores by number of training rows."),
        "correlate": ("prediction", "Correlate scores over encoders: do some predict others?"),
        "export": ("export", "Hand results over: mteb's result files, a block for a model card."),
        "results": ("result_bundle", "Pack results for others, verify theirs, add them to a folder."),
    },
    "Words and terms": {
        "terms": ("terms", "Similar and dissimilar medical terms from terminologies: build, evaluate, separate, annotate."),
        "analogies": ("analogies", "Make analogies from relations; draw what they scored."),
        "subsets": ("word_subsets", "Score word similarity by word frequency or any value of words."),
        "ratings": ("ratings", "Measure how far annotators of word pairs agree; make scores of ratings."),
    },
    "Papers": {
        "published": ("published", "Show the literature's numbers, with source, protocol and doubts."),
        "reproduce": ("reproduce", "Run a published table again and show the differences."),
    },
    "Housekeeping": {
        "doctor": ("doctor", "Check the installation, the data and an encoder; say what to fix."),
        "cache": ("cache", "The embedding cache: what is in it, what can go."),
        "train-infersent": ("train_infersent", "Train InferSent on a data set in MedNLI's format."),
    },
}
COMMANDS: Final = {name: entry for commands in COMMAND_GROUPS.values() for name, entry in commands.items()}

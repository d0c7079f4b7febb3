"""RQE: does an answer to the short question (faq) also answer the consumer's question (chq)?"""

from __future__ import annotations

from pathlib import Path

from medsenteval.errors import DataMissingError
from medsenteval.support.files import clean_text, inner_text, read_xml
from medsenteval.tasks.reading.layouts import tab_rows
from medsenteval.tasks.reading.row_acceptance import DatasetBuilder, SplitBuilder
from medsenteval.tasks.reading.task_facts import file_task

LABELS = ("false", "true")
#: The official files, MedSentEval's, and the names that others have; MEDIQA-2019 validates on the test pairs of 2016.
FILES = {
    "train": ("RQE_Train_8588_AMIA2016.xml", "rqe_train.txt", "*RQE*Train*.xml"),
    "test": ("RQE_Test_302_pairs_AMIA2016.xml", "rqe_test.txt", "*RQE*Validation*.xml", "RQE*test*AMIA2016.xml"),
}
#: The test set of the later challenge, with labels, and without.
MEDIQA = "mediqa2019"
MEDIQA_FILES = ("*RQE*TestSet-wLabels.xml", "*MEDIQA*RQE*Test*.xml")


def read(builder: DatasetBuilder) -> None:
    """Read the official XML files or MEDIQA's (``test`` chooses its test set), or the text files that MedSentEval made.

    The option ``legacy`` reads them as MedSentEval did, whose tokens were what single blanks separate, empty ones included,
    and which lost every pair whose line has no fourth field.
    """
    legacy = builder.options["legacy"] == "yes"
    builder.edition = MEDIQA if builder.options["test"] == MEDIQA else ""
    builder.options = {"legacy": "yes"} if legacy else {}
    for name, candidates in FILES.items():
        later = name == "test" and builder.edition
        if name == "test" and not later and not builder.find(*candidates) and (other := builder.find(*MEDIQA_FILES)):
            reason = f"{other.name} is another test set, of MEDIQA 2019: --option RQE.test={MEDIQA}"
            raise builder.missing(*candidates[:3], reasons=[reason])
        file = builder.require(*(MEDIQA_FILES if later else candidates))
        split = builder.split(name)
        if file.suffix.casefold() == ".xml":
            _read_xml(builder, file, split, legacy)
        elif legacy:
            for number, line in builder.lines(file):
                _add_legacy(file, number, split, line)
        else:
            for number, (pid, value, chq, faq) in tab_rows(builder, file, split, ("pid", "value", "chq", "faq")):
                split.add(file, number, chq, faq, label=value, group=chq, item=f"pid {pid}")


def _add_legacy(file: Path, number: int, split: SplitBuilder, line: str) -> None:
    """Add a line of tab-separated fields as MedSentEval did; the texts keep their blanks."""
    fields = line.strip().split("\t")
    if len(fields) < 4:
        item = f"pid {fields[0]}" if len(fields) > 1 else ""
        split.reject(file, number, f"{len(fields)} field(s): MedSentEval lost this line", item)
        return
    pid, value, chq, faq = fields[:4]
    split.add(file, number, chq, faq, label=value, group=clean_text(chq), item=f"pid {pid}", clean=str)


def _read_xml(builder: DatasetBuilder, file: Path, split: SplitBuilder, legacy: bool) -> None:
    root, line_of = read_xml(builder.opened(file))
    if "Validation" in root.tag:
        builder.notes.append(f"{file.name} is MEDIQA's copy of the test pairs: 19 of 302 have another wording than in 2016")
    if len(root) and not any(pair.get("value") for pair in root):
        raise DataMissingError(
            f"{builder.name}: {file} has no labels (no pair has a value); the same pairs with labels are in "
            "MEDIQA2019-Task2-RQE-TestSet-wLabels.xml of the GitHub repository abachaa/MEDIQA2019"
        )
    for pair in root:
        item = f"pid {pair.get('pid')}"
        chq, faq, value = pair.find("chq"), pair.find("faq"), pair.get("value")
        if pair.tag != "pair" or chq is None or faq is None or value is None:
            split.reject(file, line_of[pair], f"<{pair.tag}> is not a <pair value=...> with <chq> and <faq>", item)
            continue
        asked, answered = inner_text(chq), inner_text(faq)
        if legacy:
            # The original wrote the pair to a file of lines, so that a line end inside a question begins another line.
            for line in f"{pair.get('pid')}\t{value}\t{asked.strip()}\t{answered.strip()}".split("\n"):
                _add_legacy(file, line_of[pair], split, line)
            continue
        # Line ends inside a question (test pids 139 and 218) become blanks; an empty faq (train pid 5860) stays and is noted.
        split.add(file, line_of[pair], asked, answered, label=value, group=clean_text(asked), item=item)


OPTIONS = {"legacy": ("no", "yes"), "test": ("amia2016", MEDIQA)}
TASK = file_task("sentence", "RQE", read, labels=LABELS, options=OPTIONS)

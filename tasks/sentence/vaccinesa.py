"""VaccineSA: what does a tweet say about HPV vaccination? (Called PatientSA or ClinicalSA elsewhere.)"""

from __future__ import annotations

from medsenteval.tasks.reading.layouts import tab_rows
from medsenteval.tasks.reading.row_acceptance import DatasetBuilder
from medsenteval.tasks.reading.task_facts import file_task

LABELS = ("Positive", "Neutral", "Unrelated", "NegSafety", "NegOthers", "NegEfficacy", "NegCost", "NegResistant")


def read(builder: DatasetBuilder) -> None:
    """Join the official annotation with the downloaded tweets on the tweet id, or read MedSentEval's joined train.txt."""
    split = builder.split("all")
    annotation = builder.find("TweetsAnnotation.txt")
    if annotation is None:
        file = builder.require("train.txt", "TweetsAnnotation.txt")
        for number, (tweet, label, text) in tab_rows(builder, file, split, ("tweet id", "label", "text")):
            # MedSentEval's converter gave every row the id of one tweet, so ids of this layout say nothing.
            split.add(file, number, text, label=label, item=f"{tweet} (line {number})")
        return
    tweets = builder.require("tweets.txt", "train_temp.txt")
    text_of: dict[str, str] = {}
    for number, (tweet, text) in tab_rows(builder, tweets, split, ("tweet id", "text")):
        if text_of.setdefault(_plain(tweet), text) != text:
            split.reject(tweets, number, "a second, different text for this tweet", tweet)
    seen: set[str] = set()
    lost = 0
    for number, (tweet, _, label) in tab_rows(builder, annotation, split, ("tweet id", "unused", "label")):
        tweet = _plain(tweet)
        if tweet in seen:
            split.reject(annotation, number, "this tweet is annotated before", tweet)
        elif tweet in text_of:
            split.add(annotation, number, text_of[tweet], label=_plain(label), group=tweet, item=tweet)
        else:
            lost += 1
        seen.add(tweet)
    if lost:
        builder.notes.append(f"{lost} of {len(seen)} annotated tweets have no text in {tweets.name} (deleted or not fetched)")


def _plain(field: str) -> str:
    """Return an id or a label without the quotes in which some tools write all fields."""
    return field.strip().strip("\"'").strip()


TASK = file_task("sentence", "VaccineSA", read, labels=LABELS)

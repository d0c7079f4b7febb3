"""Clinical notes: premises and hypotheses in the manner of MedNLI."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from .vocabulary import CONDITIONS, DRUGS, ORGANS, SYMPTOMS, Concept, Condition
from .wording import Writer

__all__ = ["Inference", "write_inferences"]


@dataclass(frozen=True)
class Inference:
    """One premise with one hypothesis."""

    identifier: str
    label: str
    premise: str
    hypothesis: str


#: Premises with the facts that each states, which are the facts a hypothesis can follow from or deny.
_PREMISES: Final = (
    (
        "[{age} yo|{age} year old|{age}y/o] {man} with [h/o|history of|PMH of|longstanding|known] {c} "
        "[presents|presenting|admitted|transferred|who comes in] with {s} [x {few} days|since this morning||]",
        "condition symptom sex",
    ),
    ("[Pt|Patient|{He}] was [started on|given|placed on|loaded with|switched to] {d} for {c}", "condition drug"),
    (
        "[Past medical history|PMH|History|Problem list] [notable for|significant for|:|includes] {c} and {other}",
        "condition",
    ),
    (
        "{He} [presented to the ED|came to clinic|was brought in by EMS] [complaining of|with|reporting] {s}",
        "symptom sex",
    ),
    (
        "[Discharged|Sent home] on {d} {mg} [daily|BID|qhs|q6h] [after an episode of|for|because of] {c}",
        "condition drug",
    ),
    ("[Home meds|Current medications|Medications on admission] : {d} {mg}, multivitamin", "drug"),
    ("[Hospital course|Brief course|ROS] : {s} [resolved|improved|worsened] [on|with|after] {d} {mg}", "symptom drug"),
    (
        "{He} is a {age} year old {man} [followed for|whose problems include|who carries a diagnosis of] {c}",
        "condition sex",
    ),
    (
        (
            "[Overnight|In the unit|On POD {few}|On arrival] [the patient|{he}|pt] "
            "[developed|had|noted] {s}, [T 38.4|BP 92/50|HR 118]"
        ),
        "symptom",
    ),
    ("[Family|Wife|Daughter] [reports|states] {few} days of {s} in this {man} with {c}", "condition symptom sex"),
)

_SUBJECT: Final = "[The patient|Patient|Pt|{He}|This {man}]"

#: What may be said of a fact when it follows, and when it is denied.
_FOLLOWS: Final = {
    "condition": (
        "[has|suffers from|is known to have|was diagnosed with] {c}",
        "[has|lives with|is treated for] {ill}",
    ),
    "symptom": (
        "[has|complains of|reports|is experiencing|is bothered by] {s}",
        "[is symptomatic|does not feel well|has {s}]",
    ),
    "drug": (
        "[takes|is on|is treated with|receives|was prescribed] {d}",
        "[takes|is on|uses] [a medication|drug therapy|{d}]",
    ),
    "sex": ("is a {man}", "is {sexed}"),
}
_DENIED: Final = {
    "condition": (
        "[has no history of|never had|does not have|has no] {c}",
        "[has|was found to have] {well}",
        "[is healthy|has an unremarkable history|has no chronic illness]",
        "[is free of|was cleared of|lacks] {c}",
    ),
    "symptom": (
        "[denies|has no|is without|never had] {s}",
        "[is asymptomatic|feels well|has no complaints|is comfortable]",
    ),
    "drug": (
        "[is not taking|has never taken|refused|stopped] {d}",
        "[takes no medication|is not on any drugs|is medication naive]",
    ),
    "sex": ("is a {woman}", "is {unsexed}"),
}
_UNSAID: Final = (
    "[has|suffers from|is known to have|was diagnosed with] {otherc}",
    "[has|lives with|is treated for] {otherill}",
    "has a [family history|maternal history|strong family history] of {c}",
    "[complains of|reports|is experiencing|has] {others}",
    "[takes|is on|was prescribed|receives] {otherd}",
    "[is a smoker|used to smoke|drinks alcohol|lives alone|is married|is retired]",
    "[will need surgery|is scheduled for a CT|was seen by a specialist|will be admitted to the ICU]",
    "[has no known drug allergies|denies {others}|has no history of {otherc}|is not taking {otherd}]",
    "[had a complication from|could not afford|responded to] {d}",
    "[was admitted for|recently recovered from|is worried about] {c}",
)

_LABELS: Final = ("entailment", "neutral", "contradiction")
_LABEL_NOISE: Final = 0.05


def write_inferences(writer: Writer, n_premises: int) -> list[Inference]:
    """Return three pairs per premise, one of each class before label noise."""
    pairs = []
    for number in range(n_premises):
        premise, hypotheses = _write_premise(writer)
        for label in writer.shuffled(_LABELS):
            hypothesis = hypotheses[label]
            if writer.chance(_LABEL_NOISE):
                label = writer.pick_other(_LABELS, label)
            pairs.append(Inference(_pair_identifier(writer, number), label, premise, hypothesis))
    return pairs


def _pair_identifier(writer: Writer, number: int) -> str:
    return f"{writer.identifier(8)}-{number:04x}-0000-0000-{writer.identifier(12)}"


def _write_premise(writer: Writer) -> tuple[str, dict[str, str]]:
    """Return a premise and one hypothesis for each label."""
    condition = writer.pick(CONDITIONS)
    other = writer.pick_other(CONDITIONS, condition)
    symptom = writer.pick(condition.symptoms if writer.chance(0.7) else SYMPTOMS)
    drug = writer.pick(condition.drugs)
    male = writer.chance(0.5)
    facts: dict[str, Concept | str] = {
        "c": writer.name(condition),
        "s": writer.name(symptom, plain=0.1),
        "d": writer.name(drug),
        "other": writer.name(writer.pick_other(CONDITIONS, condition, other)),
        "He": "He" if male else "She",
        "he": "he" if male else "she",
        "man": writer.pick(["man", "male", "gentleman"] if male else ["woman", "female", "lady"]),
    }
    template, stated = writer.pick(_PREMISES)
    premise = _punctuated(writer, writer.write(template, facts))

    organ, other_organ = ORGANS[condition.organ], ORGANS[other.organ]
    other_condition = _neighbour(writer, condition) if writer.chance(0.3) else other
    said: dict[str, Concept | str] = {
        **facts,
        "c": _renamed(writer, condition, facts["c"]),
        "s": _renamed(writer, symptom, facts["s"]),
        "d": _renamed(writer, drug, facts["d"]),
        "ill": writer.pick(organ.ill),
        "well": writer.pick(organ.well),
        "otherill": writer.pick(other_organ.ill),
        "otherc": writer.name(other_condition, plain=0.3),
        "others": writer.name(writer.pick_other(SYMPTOMS, symptom), plain=0.3),
        "otherd": writer.name(writer.pick_other(DRUGS, drug)),
        "woman": "woman" if male else "man",
        "sexed": "male" if male else "female",
        "unsexed": "female" if male else "male",
    }
    said["man"] = "man" if male else "woman"
    keys = stated.split()
    predicates = {
        "entailment": writer.pick(_FOLLOWS[writer.pick(keys)]),
        "contradiction": writer.pick(_DENIED[writer.pick(keys)]),
        "neutral": writer.pick_skewed(_UNSAID),
    }
    hypotheses = {
        label: _punctuated(writer, writer.write(f"{_SUBJECT} {predicate}", said)) for label, predicate in predicates.items()
    }
    return premise, hypotheses


def _neighbour(writer: Writer, condition: Condition) -> Condition:
    """Return another disease of the same organ where there is one: the neutral pairs that overlap most in meaning."""
    return writer.pick(
        [one for one in CONDITIONS if one.organ == condition.organ and one is not condition] or [writer.pick(CONDITIONS)]
    )


def _renamed(writer: Writer, concept: Concept, name: Concept | str) -> str:
    """Return the same name again, or as often another one of the same concept."""
    if writer.chance(0.5) and isinstance(name, str):
        return name
    return writer.pick([other for other in concept.names if other != name] or concept.names)


def _punctuated(writer: Writer, text: str) -> str:
    """Notes often go without a full stop, and with a blank before one."""
    return text + writer.pick([".", ".", ".", " .", ""])

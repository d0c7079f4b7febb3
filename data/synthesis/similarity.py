"""Pairs of sentences with graded closeness of meaning: clinical (ClinicalSTS) and from the literature (BIOSSES)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from .vocabulary import CELLS, CONDITIONS, DRUGS, GENES, OUTCOMES, PROCESSES, SYMPTOMS, Concept
from .wording import Writer

__all__ = ["SimilarPair", "write_clinical_pairs", "write_literature_pairs", "write_pair"]


@dataclass(frozen=True)
class SimilarPair:
    """Two sentences and how close they are, from 0 (unrelated) to 1 (same meaning)."""

    first: str
    second: str
    closeness: float


#: Each frame is one statement in several wordings; its slots say what it is about.
_CLINICAL_FRAMES: Final = (
    (
        "{d} {dose} [tablet|capsule] [take one|one] by mouth [once daily|every day] [as needed for {s}|for {c}]",
        ("[The patient|Pt] [should take|was told to take] {dose} of {d} [orally|PO] [each day|qd] [for {c}|when {s} occurs]"),
        "[Prescribed|Continue] {d} {dose} daily, [indication|for] {c}",
    ),
    (
        "[The patient|Patient|She] [denies|does not report|has had no] {s} [today|or {t}|at this time]",
        "[No|There is no|Negative for] {s} [on review of systems|was reported|noted]",
    ),
    (
        ("[The patient|He|This patient] [was seen|was evaluated|came to clinic] [for follow-up of|because of] {c} [and {s}|]"),
        "[Follow-up visit|Return visit|Seen today] for {c} [with ongoing {s}|]",
        "[Reason for visit|Chief concern]: {c}, {s}",
    ),
    (
        (
            "[The risks and benefits of|Pros and cons of] {d} were [explained|presented] "
            "[to the patient|] [and questions answered|]"
        ),
        (
            "[We talked about|I went over|Reviewed] [possible harms and gains|risks and advantages] "
            "of [taking|starting] {d} [for {c}|]"
        ),
    ),
    (
        (
            "[The patient|She|He] [reports|complains of|describes] [worsening|increasing|more] "
            "{s} [over the past|for] {few} [days|weeks]"
        ),
        (
            "[Per patient,|She says] {s} has [become worse|been getting worse|progressed] "
            "[in the last|during the past] {few} [days|weeks]"
        ),
    ),
    (
        "[Call|Contact|Notify] [the office|the clinic|your doctor] if [you notice|you develop|there is] {s} [or {t}|]",
        "[Patient instructed to|Advised to] [phone us|seek care|return] [if|should] {s} [or {t}|] [occurs|develops]",
    ),
    (
        "[Goal|Nursing goal]: [patient will be free of|control of] {s} [by discharge|]",
        "[By the time of discharge|At discharge] [patient will no longer have|we aim for no more] {s}",
    ),
)

_LITERATURE_FRAMES: Final = (
    (
        "{g} [promotes|enhances|drives|stimulates] {p} [of|in] {k}",
        "{p} [of|in] {k} is [increased|boosted|favoured] by {g}",
        "[It was shown|We found|Evidence suggests] that {k} [undergo|show] more {p} when {g} is active",
    ),
    (
        "[Loss|Knockdown|Silencing] of {g} [inhibited|suppressed|abolished|reduced] {p} in {k}",
        "[Depleting|Without|Removing] {g}, {k} [display less|lose their|are protected from] {p}",
        "[Notably|In fact|Here], {g} was [essential|required|indispensable] for {p} [of|in] {k}",
    ),
    (
        "{g} and {h} [cooperate|act together|synergise] to [regulate|control] {p}",
        "[Control|Regulation] of {p} [depends on|requires] [both|the pair of] {g} and {h}",
    ),
    (
        "{d} [blocks|inhibits|impairs] {g} signalling and [thereby|so] [lowers|limits] {p} in {k}",
        "[Exposure of {k} to|Treating {k} with] {d} [reduced|weakened] {p} [through|via] [inhibition|block] of {g}",
    ),
    (
        "{g} is [overexpressed|upregulated|elevated] in [patients with|] {c} [and predicts {o}|]",
        "[High|Raised|Increased] levels of {g} [were found|occur] in {c} [with worse {o}|]",
    ),
    (
        "[Mutations|Variants|Alterations] [of|in] {g} [are frequent|are common|occur often] in {c}",
        "{c} [often carries|is marked by|shows] [altered|mutated] {g}",
    ),
)

_DOSES: Final = (
    *(Concept((f"{mg} mg", f"{mg} milligrams", f"{mg}-mg"), ()) for mg in (5, 10, 20, 25, 40, 50, 100, 250, 500)),
    Concept(("75 µg", "75 mcg", "0.075 mg"), ()),
)

#: How a second sentence is made, how often, and how close it is to the first.
_PLANS: Final[tuple[tuple[str, int, float, float], ...]] = (
    ("same", 4, 0.97, 1.0),
    ("renamed", 18, 0.82, 1.0),
    ("reworded", 18, 0.68, 0.95),
    ("one change", 18, 0.45, 0.68),
    ("same frame", 9, 0.22, 0.45),
    ("same subject", 13, 0.25, 0.5),
    ("unrelated", 22, 0.0, 0.2),
)
#: How often the second sentence keeps a name of the first where both mean the same thing.
_SAME_NAME: Final = 0.4


def write_clinical_pairs(writer: Writer, n_pairs: int) -> list[SimilarPair]:
    """Return pairs of clinical note sentences."""
    return [write_pair(writer, _CLINICAL_FRAMES, _clinical_scene, ("d", "s", "c"), 0.15) for _ in range(n_pairs)]


def write_literature_pairs(writer: Writer, n_pairs: int) -> list[SimilarPair]:
    """Return pairs of sentences on genes, cells and diseases."""
    return [write_pair(writer, _LITERATURE_FRAMES, _literature_scene, ("g", "p", "k"), 0.0) for _ in range(n_pairs)]


def _clinical_scene(writer: Writer) -> dict[str, Concept]:
    condition = writer.pick(CONDITIONS)
    return {
        "c": condition,
        "d": writer.pick(condition.drugs),
        "s": writer.pick(condition.symptoms),
        "t": writer.pick(SYMPTOMS),
        "dose": writer.pick(_DOSES),
    }


def _literature_scene(writer: Writer) -> dict[str, Concept]:
    gene = writer.pick(GENES)
    return {
        "g": gene,
        "h": writer.pick_other(GENES, gene),
        "p": writer.pick(PROCESSES),
        "k": writer.pick(CELLS),
        "c": writer.pick(CONDITIONS),
        "d": writer.pick(DRUGS),
        "o": writer.pick(OUTCOMES),
    }


def write_pair(
    writer: Writer,
    frames: tuple[tuple[str, ...], ...],
    make_scene: Callable[[Writer], dict[str, Concept]],
    subjects: tuple[str, ...],
    plain: float,
) -> SimilarPair:
    """Return two sentences, the second made from the first by one of the plans; a frame is a statement in several wordings."""
    frame, scene = writer.pick(frames), make_scene(writer)
    template = writer.pick(frame)
    named = _named(writer, scene, {}, plain)
    first = writer.write(template, named) + "."
    plan, _, low, high = writer.pick([entry for entry in _PLANS for _ in range(entry[1])])
    second_template, second_scene = template, scene
    if plan == "reworded":
        second_template = writer.pick_other(frame, template)
    elif plan == "one change":
        second_template = writer.pick(frame)
        second_scene = {**scene, **_replace_one(writer, make_scene, template, scene)}
    elif plan == "same frame":
        second_scene = make_scene(writer)
    elif plan in ("same subject", "unrelated"):
        second_template = writer.pick(writer.pick_other(frames, frame))
        kept = {slot: scene[slot] for slot in subjects} if plan == "same subject" else {}
        second_scene = {**make_scene(writer), **kept}
    names = {slot: name for slot, name in named.items() if second_scene[slot] == scene[slot] and writer.chance(_SAME_NAME)}
    second = first if plan == "same" else writer.write(second_template, _named(writer, second_scene, names, plain)) + "."
    closeness = low + (high - low) * (0.5 + writer.jitter(0.5))
    return SimilarPair(first, second, closeness)


def _named(writer: Writer, scene: dict[str, Concept], names: dict[str, str], plain: float) -> dict[str, str]:
    """Return a name for each concept of a scene, those given taken over."""
    return {slot: names.get(slot) or writer.name(concept, plain) for slot, concept in scene.items()}


def _replace_one(
    writer: Writer, make_scene: Callable[[Writer], dict[str, Concept]], template: str, scene: dict[str, Concept]
) -> dict[str, Concept]:
    """Return a new concept for one slot that the template shows."""
    slot = writer.pick([slot for slot in scene if f"{{{slot}}}" in template])
    while True:
        other = make_scene(writer)[slot]
        if other != scene[slot]:
            return {slot: other}

"""Questions with what answers or rephrases them: RQE, BioASQ and the contradicting claims of BioC."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from .vocabulary import CONDITIONS, DRUGS, GENES, OUTCOMES, SYMPTOMS, Concept, Condition
from .wording import Scene, Writer

__all__ = [
    "Claim",
    "ClosedQuestion",
    "QuestionPair",
    "Snippet",
    "write_closed_question",
    "write_open_question",
    "write_question_pairs",
    "write_reviews",
]


@dataclass(frozen=True)
class QuestionPair:
    """A long question and a short one, with whether an answer to the second answers the first."""

    kind: str
    entailed: bool
    long: str
    short: str


#: What can be asked of a disease: short forms, then the closing words of a long question.
_INTENTS: Final[dict[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "treatment": (
        (
            "[What are the treatments for|How should I treat|What is the best therapy for] {c}?",
            "Is there a cure for {c}?",
        ),
        (
            "[What can be done about it|How should this be treated|Is there any medicine that helps]?",
            "[Which therapy|What treatment] would you [choose|advise]?",
        ),
    ),
    "cause": (
        ("What causes {c}?", "[Why do people get|What is the etiology of|What leads to] {c}?"),
        (
            "[Why did this happen|What could be the reason|Where does it come from]?",
            "[What triggers it|What brings this on]?",
        ),
    ),
    "diagnosis": (
        (
            "How is {c} diagnosed?",
            "[Which tests are used to detect|What work-up is needed for|How do you screen for] {c}?",
        ),
        (
            "[Which test would prove it|What scan or lab should be ordered|How can we be sure]?",
            "[How do doctors find out|What work-up is needed]?",
        ),
    ),
    "prognosis": (
        ("[What is the outlook for|What is the prognosis of|How long can one live with] {c}?",),
        (
            "[How long will it last|What should we expect in the long run|Will it get worse]?",
            "[What are the chances|What is the outlook]?",
        ),
    ),
    "prevention": (
        ("[How can one prevent|How to prevent|Can diet or exercise prevent] {c}?",),
        ("[How do I keep it from coming back|What can be done to avoid it|Does prophylaxis help]?",),
    ),
    "inheritance": (
        ("Is {c} inherited?", "[Does {c} run in families|Which gene is linked to {c}|Is {c} genetic]?"),
        ("[Will my children get it|Is it passed on in families|Should my sister be tested]?",),
    ),
    "side effect": (
        ("[What are the side effects of|Is it safe to take|What are the adverse effects of] {d} [in {c}|for {c}]?",),
        (
            "[Is the {d} to blame|Could {d} be harmful|What are the dangers of {d}]?",
            "[Can I stop the {d}|Is {d} safe]?",
        ),
    ),
    "symptom": (
        ("What are the symptoms of {c}?", "[How does {c} present|What are the signs of {c}|Can {s} be a sign of {c}]?"),
        ("[Is {s} part of it|Does this explain the {s}|Which signs should I watch for]?",),
    ),
}

#: Asked for its own sake rarely, but what a search for a disease name returns first: most often not an answer.
_DEFINITIONS: Final = (
    "What is {c}?",
    "[Where can I find|Do you have] information [about|on] {c}?",
    "What is meant by {c}?",
)

_PATIENT_OPENINGS: Final = (
    (
        "[Hello|Hi|Dear doctor|Good morning], my [mother|husband|son|sister|father in law] "
        "[has|was told it is|suffers from] {c}."
    ),
    "I have had {c} for {few} years and now I also get {s}.",
    (
        "[Please help|Need advice|question]. I am {age} [years old|yrs] [and|&] "
        "[just found out about|was diagnosed with|live with] {c}."
    ),
    "[{c}|About {c}]. [My doctor gave me {d}|I take {d} {mg} a day] [but|and] the {s} [did not go away|got worse].",
    "[I read a lot about|They say I have|My café owner friend has] {c}, and I am [worried|confused|scared].",
)
_CLINICIAN_OPENINGS: Final = (
    "[I have|We saw] a {age} year old [woman|man|patient] with {c} [and {s}|who is on {d}|].",
    "[This patient|A {age} year old] [has|presented with] {c}, [no response to {d} so far|with {s} for {few} weeks].",
    "[Regarding|With respect to|About] {c} [in a pregnant patient|in the elderly|in a child|].",
)
_CLOSINGS: Final = ("[Thanks|Thank you|Please answer|God bless|Any information is welcome].", "", "")


def write_question_pairs(writer: Writer, kinds: Sequence[tuple[str, bool, int]], patients: float) -> list[QuestionPair]:
    """Return pairs for each (kind, entailed, number); ``patients`` is the share of questions that patients ask."""
    wanted = [(kind, entailed) for kind, entailed, number in kinds for _ in range(number)]
    return [_write_question_pair(writer, kind, entailed, patients) for kind, entailed in writer.shuffled(wanted)]


def _write_question_pair(writer: Writer, kind: str, entailed: bool, patients: float) -> QuestionPair:
    patient = writer.chance(patients)
    condition, intent = writer.pick(CONDITIONS), writer.pick_skewed(list(_INTENTS))
    asked = _question_scene(writer, condition)
    if patient:
        asked["c"] = writer.name(condition, plain=0.5)
    shorts, endings = _INTENTS[intent]
    opening = writer.pick(_PATIENT_OPENINGS if patient else _CLINICIAN_OPENINGS)
    ending = writer.pick(shorts if writer.chance(0.5) else endings)
    parts = [writer.write(opening, asked, plain=0.4 if patient else 0.0), writer.write(ending, asked)]
    if patient:
        parts.append(writer.write(writer.pick(_CLOSINGS), asked))
    long = " ".join(part for part in parts if part)
    if entailed and not patient and writer.chance(0.18):
        # The real training file pairs many short questions with themselves.
        same = writer.write(writer.pick(shorts), asked)
        return QuestionPair(kind, entailed, same, same)
    # Random negatives are easy; those that share the disease or the intent are what an encoder has to earn.
    # About one pair in twelve is simply labelled wrongly.
    if entailed != writer.chance(0.06):
        other = {**asked, "c": asked["c"] if writer.chance(0.55) else writer.pick(condition.names)}
        short = writer.pick(shorts)
    elif writer.chance(0.25):
        other = {**asked, "c": writer.pick(condition.names)}
        short = writer.pick(_DEFINITIONS + _INTENTS[writer.pick_other(list(_INTENTS), intent)][0])
    else:
        other = _question_scene(writer, writer.pick_other(CONDITIONS, condition))
        short = writer.pick(_DEFINITIONS if writer.chance(0.45) else _INTENTS[writer.pick(list(_INTENTS))][0])
    return QuestionPair(kind, entailed, long, writer.write(short, other))


def _question_scene(writer: Writer, condition: Condition) -> dict[str, Concept | str]:
    """Name the disease once, so that a long question uses one name throughout."""
    return {
        "c": writer.name(condition),
        "d": writer.name(writer.pick(condition.drugs)),
        "s": writer.pick(condition.symptoms),
    }


@dataclass(frozen=True)
class Snippet:
    """A passage that answers a question, with the place it was taken from."""

    text: str
    section: str


@dataclass(frozen=True)
class ClosedQuestion:
    """A yes/no question with its answer and the passages that support it."""

    body: str
    affirmed: bool
    snippets: tuple[Snippet, ...]
    ideal: str


@dataclass(frozen=True)
class _Relation:
    """A thing that can be asked, found to be so, or found not to be so."""

    questions: tuple[str, ...]
    found: tuple[str, ...]
    refuted: tuple[str, ...]


_SETTING: Final = "[In {n} patients, |In this trial, |In a meta-analysis of {few} studies, |At {weeks}, |Overall, |||]"

_RELATIONS: Final = {
    "benefit": _Relation(
        (
            "[Does|Can] {d} [reduce|lower|improve|influence] {o} in [patients with|] {c}?",
            "Is {d} [effective|useful|beneficial|recommended] [for|in|against] {c}?",
            ("[In patients with {c}|In adults with {c}], does {d} [compared with placebo|] [decrease|affect|reduce] {o}?"),
        ),
        (
            _SETTING + "{d} [significantly|markedly|clearly||] [improved|reduced|lowered|decreased] {o} in {c} ({p})",
            _SETTING + "{d} [was superior to placebo|proved effective|showed a clear benefit|was efficacious] in {c}",
            (
                "[Treatment with|Addition of|Early] {d} "
                "[is beneficial|conferred protection|provides an advantage] in [patients with|] {c}"
            ),
            "{o} [was lower|was better|improved|fell by {pct}%] [with|in those on|after] {d} [than with placebo|]",
            "[These data support|We recommend|Guidelines endorse] the use of {d} [in|against] {c}",
            "{d}: [an effective option|a promising agent|a useful adjunct] in {c}",
        ),
        (
            _SETTING + "{d} [did not|failed to|was unable to] [improve|reduce|lower|change] {o} in {c} ({ns})",
            _SETTING + "{d} [was not superior to placebo|proved ineffective|was no better than placebo|lacked efficacy] in {c}",
            "[There is no evidence for|Evidence does not support|We advise against] the use of {d} [in|against] {c}",
            ("{o} [was not different|did not differ|was unchanged|remained similar] [between {d} and placebo|after {d}|]"),
            "[No benefit of|Lack of effect of|Futility of] {d} [was seen|] in [patients with|] {c}",
            "{d}: [a disappointing trial|no advantage over placebo|negative results] in {c}",
        ),
    ),
    "link": _Relation(
        (
            "Is {g} [associated with|implicated in|involved in|linked to] {c}?",
            "[Are variants|Are mutations|Is overexpression] of {g} [a risk factor for|related to] {c}?",
            "Does {g} [contribute to|play a role in] {c}?",
        ),
        (
            _SETTING + "{g} [was associated with|correlated with|was linked to] [a higher risk of|] {c} (OR {ratio}, {p})",
            "{g} [contributes to|is a driver of|plays a key role in|is implicated in] the pathogenesis of {c}",
            "[Overexpression|Mutation|Increased activity] of {g} [was found|was detected] in {pct}% of [cases of|] {c}",
            "[Our results confirm|Here we show] [a role for|the involvement of] {g} in {c}",
        ),
        (
            _SETTING + "{g} [was not associated with|did not correlate with|was unrelated to] [the risk of|] {c} ({ns})",
            "[No association between|No relation of|Absence of a link between] {g} and {c} [was found|]",
            ("[We could not replicate|Our results argue against|These data refute] [a role for|the involvement of] {g} in {c}"),
            "{g} [does not contribute to|is dispensable for|is not involved in] the pathogenesis of {c}",
        ),
    ),
    "harm": _Relation(
        (
            "[Can|Does] {d} [cause|induce|lead to|provoke] {s}?",
            "Is {s} [a side effect of|an adverse event of|related to] {d}?",
        ),
        (
            _SETTING + "{s} [occurred more often with|was more common with|increased on] {d} ({pct}%, {p})",
            "{d} [can cause|may induce|is known to provoke|carries a risk of] {s} [in {c}|]",
            "[Cases of|Severe] {s} [after|related to|caused by] {d} [have been reported|were observed]",
        ),
        (
            _SETTING + "{s} [was no more frequent with|did not increase with|was not related to] {d} ({ns})",
            "{d} [does not cause|is not associated with|was free of] {s} [in {c}|]",
            "[No|No cases of|Absence of] {s} [after|related to|caused by] {d} [have been reported|were observed]",
        ),
    ),
}

#: Passages that do not tell the answer: what a careful reader would call undecided.
_UNDECIDED: Final = (
    "[Further studies of|Larger trials of|Data on] {d} in {c} are [needed|under way|scarce]",
    "{c} is [a common disease|a major burden|frequent] in [the elderly|adults|many countries]",
    "{d} was given to {n} patients with {c} for {weeks}",
    "[The role|The place] of {d} in {c} [remains unclear|is debated|has been studied for decades]",
)
_FOUND_ENDING: Final = "[, a significant effect||, which confirms earlier work|, and the effect was lasting]"
_REFUTED_ENDING: Final = "[, and no effect was seen||, with no significant difference|, which does not confirm earlier work]"
_UNDECIDED_SHARE: Final = 0.06
_LABEL_NOISE: Final = 0.04


#: What is asked tells a little about the answer, as in any collection of questions that people cared to ask.
_ASKED: Final = {
    True: ("benefit", "benefit", "link", "link", "harm"),
    False: ("benefit", "benefit", "benefit", "harm", "harm", "link"),
}


def _relation_scene(writer: Writer, affirmed: bool) -> tuple[_Relation, dict[str, Concept | str]]:
    condition = writer.pick(CONDITIONS)
    scene: dict[str, Concept | str] = {
        "c": condition,
        "d": writer.pick(condition.drugs) if writer.chance(0.7) else writer.pick(DRUGS),
        "o": writer.pick(OUTCOMES),
        "g": writer.pick(GENES),
        "s": writer.pick(SYMPTOMS),
    }
    return _RELATIONS[writer.pick(_ASKED[affirmed])], scene


def _write_passage(writer: Writer, relation: _Relation, scene: Scene, affirmed: bool) -> str:
    if writer.chance(_UNDECIDED_SHARE):
        return writer.write(writer.pick(_UNDECIDED), scene) + "."
    found = affirmed != writer.chance(_LABEL_NOISE)
    template = writer.pick(relation.found if found else relation.refuted)
    return writer.write(template + (_FOUND_ENDING if found else _REFUTED_ENDING), scene) + "."


def write_closed_question(writer: Writer, affirmed: bool, n_snippets: int) -> ClosedQuestion:
    """Return a yes/no question of the BioASQ kind with its snippets."""
    relation, scene = _relation_scene(writer, affirmed)
    snippets = tuple(
        Snippet(_write_passage(writer, relation, scene, affirmed), writer.pick(["abstract", "abstract", "title"]))
        for _ in range(n_snippets)
    )
    ideal = writer.write(writer.pick(relation.found if affirmed else relation.refuted), scene)
    answer = "Yes" if affirmed else "No"
    return ClosedQuestion(writer.write(writer.pick(relation.questions), scene), affirmed, snippets, f"{answer}. {ideal}.")


_OPEN_QUESTIONS: Final = {
    "factoid": "[Which drug|What medication] is [first-line|most often used] [for|in] {c}?",
    "list": "[List|Which are the] [symptoms|signs|clinical features] of {c}.",
    "summary": "[What is known about|Describe] the role of {g} in {c}?",
}


def write_open_question(writer: Writer, kind: str) -> tuple[str, list[list[str]], Snippet, str]:
    """Return body, exact answers, one snippet and the ideal answer of a question that is not yes/no."""
    condition = writer.pick(CONDITIONS)
    scene: dict[str, Concept | str] = {
        "c": condition,
        "d": writer.pick(condition.drugs),
        "o": writer.pick(OUTCOMES),
        "g": writer.pick(GENES),
    }
    answers = {
        "factoid": [list(condition.drugs[0].formal[:2])],
        "list": [list(symptom.formal[:2]) for symptom in condition.symptoms],
        "summary": [],
    }[kind]
    relation = _RELATIONS["link" if kind == "summary" else "benefit"]
    passage = writer.write(writer.pick(relation.found), scene) + "."
    body = writer.write(_OPEN_QUESTIONS[kind], scene)
    return body, answers, Snippet(passage, "abstract"), writer.write("{c} [responds to|is treated with] {d}.", scene)


@dataclass(frozen=True)
class Claim:
    """What one abstract says to the question of a review."""

    affirmed: bool
    kind: str
    text: str


def write_reviews(writer: Writer, n_questions: int) -> list[tuple[str, list[Claim]]]:
    """Return review questions with the claims of about eleven abstracts each, seven in ten of them affirmative."""
    reviews = []
    for _ in range(n_questions):
        relation, scene = _relation_scene(writer, writer.chance(0.7))
        # Reviews lean one way or the other, as reviews do; that alone lets a question tell something.
        leaning = writer.pick([0.25, 0.55, 0.7, 0.8, 0.85, 0.9])
        claims = []
        for _ in range(writer.number(9, 13)):
            affirmed = writer.chance(leaning)
            text = _write_passage(writer, relation, scene, affirmed)
            claims.append(Claim(affirmed, "CAUS" if relation is not _RELATIONS["benefit"] else "COMP", text))
        reviews.append((writer.write(writer.pick(relation.questions), scene), claims))
    return reviews

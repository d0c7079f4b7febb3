"""Structured abstracts of trials: the sentences of PubMed20K and PICO, each with the role it plays."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from .vocabulary import CONDITIONS, OUTCOMES, Concept
from .wording import Writer, tokenise

__all__ = ["PICO_HEADINGS", "Abstract", "mask_digits", "write_abstracts"]


@dataclass(frozen=True)
class Abstract:
    """An abstract as (label, tokenised sentence) rows in reading order."""

    identifier: str
    rows: tuple[tuple[str, str], ...]


_ROLES: Final[dict[str, tuple[str, ...]]] = {
    "background": (
        "{c} is [a leading cause of|frequently accompanied by|associated with] {o} [worldwide|in the elderly|]",
        "[Little is known about|Data are scarce on|It is unclear|Controversy surrounds] {d} in [patients with|] {c}",
        (
            "[Previous|Earlier|Observational] [studies|reports|work] [suggest|suggested|have shown] "
            "that {d} [affects|may influence|improves] {o}"
        ),
        "{d} is [widely|commonly|increasingly] [used|prescribed] [for|in|against] {c}",
        "[Up to|About] {pct}% of [people|adults|patients] with {c} [suffer|experience] {o}",
        "[Treatment options|Therapies] for {c} [remain limited|are unsatisfactory|carry side effects]",
    ),
    "objective": (
        ("To [determine|evaluate|assess|compare|investigate|examine] the [effect|efficacy|safety|impact] of {d} on {o} in {c}"),
        (
            "[We aimed to|We sought to|This study aimed to|The aim was to|The purpose of this trial was to] "
            "[test|assess|clarify] whether {d} [improves|alters|reduces] {o}"
        ),
        ("[We hypothesised|Our hypothesis was|We expected] that {d} [would reduce|improves|is not inferior in] {o} in {c}"),
        "[Our goal|The objective] was to compare {d} with {e} in [patients with|] {c}",
    ),
    "design": (
        (
            "[We conducted|This was|We performed] a [randomised|double-blind|multicentre|prospective|crossover] "
            "[trial|study|cohort study] [at {few} centres|in {year}|]"
        ),
        ("[Allocation was concealed|Randomisation was stratified by age|Blocks of {few} were used|Investigators were masked]"),
        (
            "[Data were analysed|Groups were compared] "
            "[by intention to treat|with mixed models|with the t test|using Cox regression] [in SAS|in R|]"
        ),
        "[Student t tests|Kaplan-Meier curves|χ2 tests] [were used|were applied], and {p} was considered significant",
        "[The protocol was approved by|Consent was given to] the [ethics committee|review board] [of {few} hospitals|]",
        "Correlations of {bar} r {bar} ≥ 0.{few}0 were [called strong|taken as relevant]",
    ),
    "participants": (
        (
            "{n} [patients|adults|men and women|outpatients|consecutive patients] with "
            "{c} [were enrolled|were recruited|took part|participated]"
        ),
        "[Eligible participants were|Participants:] aged {age} years or older [with|and had] {c} [and {s}|]",
        (
            "[A total of|] {n} [subjects|volunteers|children|inpatients] "
            "[with {c} diagnosed before {year}|with confirmed {c}] at {few} hospitals"
        ),
        "[Inclusion criteria were|We included those with|Exclusion criteria were] {c} and {s}",
    ),
    "intervention": (
        (
            "[Patients|Participants|They] [received|were assigned to|were randomly allocated to] "
            "{d} {mg} [or|versus|and] [placebo|{e}] [daily|twice a day] for {weeks}"
        ),
        ("{d} ({mg}) [was given|was administered|was infused] [orally|once daily|intravenously] [for {weeks}|until discharge]"),
        "[Controls|The comparison group|One arm] [received|were given|took] [placebo|usual care|{e}]",
        "[Group A|The treatment arm] took {d} {mg} and [group B|controls] took [placebo|{e}] for {weeks}",
    ),
    "outcome": (
        "[The primary outcome|The primary end point|The main outcome measure] was {o} at {weeks}",
        "[Secondary outcomes|Secondary end points|Other measures] [included|were] {o} and {s}",
        "{o} [was measured|was assessed|was recorded|was scored] [at baseline and|] at {weeks}",
        "[Main outcome measures:|We recorded] [change in|time to|incidence of] {o}",
    ),
    "results": (
        (
            "{o} [decreased|increased|improved|was lower|was higher] [significantly|] "
            "[in the {d} group|with {d}] ({pct} vs {pct}; {p})"
        ),
        "[There was no|We found no|No] [significant|] difference [between groups|between arms] in {o} ({ns})",
        (
            "[At {weeks}|After {weeks}|At follow-up], {o} [was {pct}%|fell to {pct}%] "
            "[with {d}|in the control group] ({pct}% with {e})"
        ),
        "[Mean|Median] [change|difference] [in {o}|] was {pct} (95% CI {ratio}-{pct}, {p})",
        "{s} [occurred|was reported] in {pct}% of [those on|patients given] {d}",
        "[Of {n} patients|Of {n} randomised], {few} [dropped out|were not analysed|were lost to follow-up]",
        "The [hazard|odds|risk] ratio for {o} was {ratio} (95% CI 0.{few}1-{pct})",
    ),
    "conclusions": (
        (
            "{d} [appears to be|is|seems] "
            "[safe and effective|an effective option|not superior to {e}|well tolerated] [in|for] {c}"
        ),
        (
            "[These findings|Our results|These data|The results] [suggest|support|indicate|show] "
            "that {d} [improves|does not change|may reduce] {o}"
        ),
        (
            "[Larger|Further|Future] [trials|studies] [are needed|are warranted|should confirm this] "
            "[before {d} is recommended|]"
        ),
        ("[We conclude that|In conclusion,|In summary,] {d} [should be considered|cannot be recommended|can be used] in {c}"),
        ("[Clinicians should consider {d}|This has implications for {d}|We do not advise routine {d}] in [patients with|] {c}"),
    ),
}

#: Sentences that stand in several sections of real abstracts, so that no encoder can tell their role from the text.
_SHARED: Final[tuple[tuple[frozenset[str], str], ...]] = (
    (frozenset({"background", "conclusions"}), "{d} [reduces|improves|influences] {o} in [patients with|] {c}"),
    (
        frozenset({"background", "conclusions"}),
        "The [effect|benefit|role] of {d} in {c} [needs further study|is uncertain]",
    ),
    (frozenset({"participants", "results"}), "{n} [patients|participants] with {c} were [randomised|included]"),
    (frozenset({"design", "objective", "intervention"}), "We compared {d} with {e} in {n} patients with {c}"),
    (frozenset({"outcome", "results"}), "{o} and {s} at {weeks}"),
    (frozenset({"results", "conclusions"}), "{d} was [well tolerated|associated with less {s}|superior to {e}]"),
    (frozenset({"intervention", "background"}), "{d} [is given|was given] for {weeks} in {c}"),
    (frozenset({"objective", "conclusions"}), "Whether {d} [changes|improves] {o} in {c} was [tested|studied]"),
    (frozenset({"design", "participants", "outcome"}), "[Follow-up|Recruitment] [lasted|was] {weeks} in {n} patients"),
)
_SHARED_PROBABILITY: Final = 0.26

#: The order of roles in an abstract; a role in brackets may be missing, one with a plus may be repeated.
_PLANS: Final = {
    "PubMed20K": (
        "[background+]",
        "[objective]",
        "design",
        "participants",
        "[intervention]",
        "[outcome]",
        "results+",
        "conclusions+",
    ),
    "PICO": ("objective", "[design]", "participants", "intervention", "outcome", "[design]", "results+", "conclusions"),
}
_LABELS: Final = {
    "PubMed20K": {
        "background": "BACKGROUND",
        "objective": "OBJECTIVE",
        "design": "METHODS",
        "participants": "METHODS",
        "intervention": "METHODS",
        "outcome": "METHODS",
        "results": "RESULTS",
        "conclusions": "CONCLUSIONS",
    },
    "PICO": {
        "objective": "A",
        "participants": "P",
        "intervention": "I",
        "outcome": "O",
        "design": "M",
        "results": "R",
        "conclusions": "C",
    },
}
PICO_HEADINGS: Final = {
    "A": ("OBJECTIVE", "AIM", "PURPOSE", "AIMS OF THE STUDY"),
    "P": ("PATIENTS", "PARTICIPANTS", "STUDY POPULATION", "SETTING AND PATIENTS"),
    "I": ("INTERVENTIONS", "INTERVENTION", "TREATMENT"),
    "O": ("MAIN OUTCOME MEASURES", "OUTCOMES", "PRIMARY OUTCOME MEASURE"),
    "M": ("METHODS", "DESIGN", "STATISTICAL ANALYSIS", "MATERIALS AND METHODS"),
    "R": ("RESULTS", "FINDINGS", "MAIN RESULTS"),
    "C": ("CONCLUSIONS", "CONCLUSION", "INTERPRETATION"),
}
_LABEL_NOISE: Final = 0.03


def write_abstracts(writer: Writer, corpus: str, first_identifier: int, n_abstracts: int) -> list[Abstract]:
    """Return abstracts of six to nine sentences in the style of "PubMed20K" or "PICO"."""
    return [_write_abstract(writer, corpus, str(first_identifier + number)) for number in range(n_abstracts)]


def _write_abstract(writer: Writer, corpus: str, identifier: str) -> Abstract:
    condition = writer.pick(CONDITIONS)
    drug = writer.pick(condition.drugs)
    # One name per abstract for the disease, as authors do; everything else may change its name.
    scene: dict[str, Concept | str] = {
        "c": writer.name(condition),
        "d": drug,
        "e": writer.pick([other for other in condition.drugs if other != drug] or [drug]),
        "o": writer.pick(OUTCOMES),
        "s": writer.pick(condition.symptoms),
        "bar": "|",
    }
    labels = _LABELS[corpus]
    rows = []
    for role in _roles(writer, corpus):
        shared = [template for roles, template in _SHARED if role in roles]
        ambiguous = shared and writer.chance(_SHARED_PROBABILITY)
        template = writer.pick(shared) if ambiguous else writer.pick_skewed(_ROLES[role])
        label = labels[role]
        if writer.chance(_LABEL_NOISE):
            label = writer.pick(sorted(set(labels.values())))
        rows.append((label, tokenise(writer.write(template, scene) + ".")))
    return Abstract(identifier, tuple(rows))


def _roles(writer: Writer, corpus: str) -> list[str]:
    """Return six to nine roles in reading order."""
    while True:
        roles = []
        for step in _PLANS[corpus]:
            if step.startswith("[") and writer.chance(0.3):
                continue
            role = step.strip("[]+")
            roles += [role] * (writer.number(1, 3) if "+" in step else 1)
        if 6 <= len(roles) <= 9:
            return roles


def mask_digits(text: str) -> str:
    """Replace numbers by the at sign, as the PICO distribution does."""
    return re.sub(r"\d+", "@", text)

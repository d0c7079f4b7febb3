"""Texts with an attitude: tweets on vaccination (ClinicalSA) and citation contexts (CitationSA)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from .vocabulary import CONDITIONS, DRUGS, GENES, OUTCOMES, SYMPTOMS, Concept
from .wording import Writer

__all__ = ["Opinion", "write_citations", "write_tweets"]


@dataclass(frozen=True)
class Opinion:
    """A text with its label."""

    label: str
    text: str


_SHOT: Final = "[HPV vaccine|HPV shot|Gardasil|hpv jab|#HPV vaccine|Cervarix]"
_WHO: Final = "[my daughter|my son|my niece|girls|boys|kids|teens|my patients|my little sister]"

#: Number of tweets and templates of each class.
_TWEETS: Final[dict[str, tuple[int, tuple[str, ...]]]] = {
    "Positive": (
        104,
        (
            "[So glad|Proud|Happy] {who} [got|finished|completed] the {shot} [today|this week|] [#vaccineswork|💪|]",
            (
                "The {shot} [prevents|protects against|stops] [cancer|cervical cancer|tumors]. "
                "[Get it|Do it|Go for it|Protect {who}]!"
            ),
            "[Please|Everyone,|Parents:] [vaccinate|protect|immunise] {who} [with the {shot}|against HPV]",
            "[Study|New study|Great news]: {shot} [cuts|lowers|slashes] [precancer|infection] [rates|] by {pct}%",
            "[Thank you|Yay] [doc|nurse|science] for the {shot} [❤|#CancerPrevention|]",
        ),
    ),
    "Neutral": (
        88,
        (
            "[FDA|CDC|Health dept|The clinic] [updates|reviews|reports on] {shot} [schedule|coverage|guidance]",
            "[Anyone know|Question:] [where|when|how] [{who} can get|to get] the {shot}?",
            "{shot} [uptake|coverage] [is {pct}% in|among] [{who}|the county] [this year|in {year}|]",
            "[Getting|Got|Had] the {shot} [today|at {few} pm|number {few}]",
            "[Reading about|Talk on|Webinar on] the {shot} [tomorrow|at noon|#publichealth]",
        ),
    ),
    "Unrelated": (
        52,
        (
            "[My dog|The cat|Our puppy] needs {few} [shots|vaccines] [lol|at the vet|]",
            "[Watching the game|Listening to that song|Watching a movie] [tonight|again] [lol|haha|😂]",
            "[I got|he got] {few} HP left and no [shot|potion] [#gaming|]",
            "[Selling|Looking for] [an HP laptop|HP ink|tickets] [cheap|] dm me",
            "[That jab|Nice shot|What a shot] [in round {few}|by the striker] [⚽|]",
        ),
    ),
    "NegSafety": (
        56,
        (
            "{who} [fainted|got {s}|had seizures|got sick] after the {shot} [#vaccineinjury|]",
            "{shot} is [dangerous|poison|toxic|not safe] [!!|, look at the side effects|]",
            "[Girl|Teen|{age} yr old] [dies|paralysed|hospitalised] after {shot} [wake up|]",
            "[Full of|Loaded with] [aluminium|toxins|chemicals]: [keep the {shot} away from|do not inject] {who}",
            "[Reports|VAERS data] [link|tie] {shot} to {s} and {s}",
        ),
    ),
    "NegOthers": (
        36,
        (
            "[Big pharma|Merck|The government] [just wants|is pushing] {shot} [for profit|on us] [#corrupt|]",
            "[Forced|Mandatory] {shot}? [My body my choice|No thanks|Not for {who}|Parents decide]",
            "{shot} [tells {who}|encourages them] to [have sex|sleep around] [smh|]",
            "[Do not trust|Never believed] [the people behind|doctors selling] the {shot}",
        ),
    ),
    "NegEfficacy": (
        28,
        (
            "{shot} [does not work|is useless|never stopped a single cancer|is pointless]",
            "[No proof|Zero evidence] that {shot} [prevents|stops] [cancer|anything]",
            "{shot} [wears off|only covers {few} types|protects nobody] [so why bother|]",
            "[Had the {shot}|Got all the shots] and [still got HPV|caught it anyway]",
        ),
    ),
    "NegCost": (
        26,
        (
            "[${n}|$ {n}] for the {shot}?? [too expensive|insane|cannot afford that]",
            "[Insurance|My plan] [won't cover|refuses to pay for] the {shot} [ugh|]",
            "[The bill|The price] for {who}'s {shot} [is crazy|hurts my wallet more than the arm]",
            "[Wish|If only] the {shot} [was free|was cheaper|cost less]",
        ),
    ),
    "NegResistant": (
        24,
        (
            "[I won't|Not gonna|Never gonna] [let {who} get|give {who}] the {shot} [period|]",
            "[I refuse|I said no to|I declined] the {shot} [again|for {who}|]",
            "[Nope|No way]. {who} [will not be|is not] getting the {shot}",
            "[Nobody|No one] [can make us|will make {who}] [take|get] the {shot}",
        ),
    ),
}
_TWEET_NOISE: Final = 0.05


def write_tweets(writer: Writer) -> list[Opinion]:
    """Return tweets of eight classes in random order."""
    tweets = []
    for label, (number, templates) in _TWEETS.items():
        for _ in range(number):
            source = templates
            if writer.chance(_TWEET_NOISE):
                # The label stays, the text is another class's: annotators err, and sarcasm exists.
                source = _TWEETS[writer.pick_other(list(_TWEETS), label)][1]
            tweets.append(Opinion(label, _write_tweet(writer, writer.pick(source))))
    tweets[7] = Opinion(tweets[7].label, tweets[3].text)  # a retweet: the same text under two ids
    return writer.shuffled(tweets)


def _write_tweet(writer: Writer, template: str) -> str:
    scene: dict[str, Concept | str] = {
        "shot": writer.phrase(_SHOT, {}),
        "who": writer.phrase(_WHO, {}),
        "s": writer.pick(SYMPTOMS),
    }
    text = writer.write(template, scene, plain=0.6)
    if writer.chance(0.35):
        text = text.lower()
    if writer.chance(0.25):
        user = f"@{writer.pick(['mom', 'dr', 'news', 'jo', 'kim'])}_{writer.number(1, 99)}"
        text = f"{writer.pick(['RT ', '', ''])}{user}: {text}"
    if writer.chance(0.3):
        text += f" http://t.co/{writer.identifier(8)}"
    return text


#: Number of citation contexts and templates of each class; {C} is the citation marker.
_CITATIONS: Final[dict[str, tuple[int, tuple[str, ...]]]] = {
    "neutral": (
        214,
        (
            "[Several studies|A number of reports|Two trials] [have examined|investigated|described] {d} in {c} {C}",
            "{g} [has been measured|was studied|is expressed] in [patients with|] {c} {C}",
            "[According to|As described by|In the trial of] {C}, {o} [was {pct}%|ranged widely] [in {c}|after {d}]",
            "{C} [reported|described|noted] {o} of {pct}% [in {n} patients with {c}|after {d}]",
            "[The mechanism of|The effect of] {d} [on {o}|in {c}] [has been reviewed in|is discussed in] {C}",
            "[Similar methods|The same scale] [were used|was used] [by|in] {C} to [measure|rate] {o}",
        ),
    ),
    "positive": (
        92,
        (
            (
                "[Our results|These findings|Our data] [are consistent with|agree with|confirm|are in line with] "
                "{C}, [where|who found that] {d} [changed|improved] {o}"
            ),
            "[In agreement with|In accordance with|Similar to] {C}, {g} [was raised|was related to {o}] in {c}",
            (
                "[The elegant|The landmark|The pioneering|The careful] [study|work|trial] "
                "[by|of] {C} [established|showed] {d} in {c}"
            ),
            "[As expected from|Supporting|Corroborating] {C}, we [found|saw|observed] [less|better] {o} [with {d}|]",
            "{C} [convincingly|clearly|first] [demonstrated|proved] that {d} [improves|alters] {o} in {c}",
        ),
    ),
    "negative": (
        54,
        (
            (
                "[In contrast to|Contrary to|Unlike] {C}, [we found no|we did not observe|our data show no] "
                "[effect of {d}|change in {o}] in {c}"
            ),
            ("[However,|Unfortunately,] {C} [failed to|did not|could not] [control for|account for|measure] {o} [in {c}|]"),
            (
                "[The discrepancy with|Our disagreement with|The failure to replicate] {C} "
                "[may reflect|is due to|perhaps stems from] [small samples|bias|dosing of {d}]"
            ),
            "{C} [was limited by|suffered from|is flawed by] [a small sample|missing data|confounding] [in {c}|of {o}]",
            ("[These results|Our findings] [conflict with|are at odds with|disagree with] {C} [regarding|on] {d} [and {o}|]"),
        ),
    ),
}
_CITATION_NOISE: Final = 0.08


def write_citations(writer: Writer) -> list[Opinion]:
    """Return citation contexts of three classes in random order."""
    citations = []
    for label, (number, templates) in _CITATIONS.items():
        for _ in range(number):
            source = templates
            if writer.chance(_CITATION_NOISE):
                source = _CITATIONS[writer.pick_other(list(_CITATIONS), label)][1]
            citations.append(Opinion(label, _write_citation(writer, writer.pick(source))))
    return writer.shuffled(citations)


def _write_citation(writer: Writer, template: str) -> str:
    condition = writer.pick(CONDITIONS)
    scene: dict[str, Concept | str] = {
        "c": condition,
        "d": writer.pick(condition.drugs) if writer.chance(0.8) else writer.pick(DRUGS),
        "o": writer.pick(OUTCOMES),
        "g": writer.pick(GENES),
        "C": "[C]",
    }
    return writer.write(template, scene) + writer.pick([".", ".", ".", ";", ""])

"""General-domain counterparts of the biomedical sets, in SentEval's folders: reviews, questions, captions, news (invented)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from .formats import lines
from .similarity import SimilarPair, write_pair
from .vocabulary import Concept
from .wording import Writer, tokenise

__all__ = ["build_general_files"]


def _concepts(table: str) -> tuple[Concept, ...]:
    return tuple(Concept(tuple(name.strip() for name in line.split("/")), ()) for line in table.strip().splitlines())


_PEOPLE: Final = _concepts(
    """
    a man / a guy / a gentleman
    a woman / a lady
    a boy / a young boy / a kid
    a girl / a little girl
    a child / a toddler
    an old man / an elderly man
    a cook / a chef
    a worker / a workman
    a musician / a performer
    a cyclist / a bike rider
    """
)
_ACTIONS: Final = _concepts(
    """
    playing the guitar / strumming a guitar
    riding a bicycle / cycling
    slicing bread / cutting a loaf
    reading a newspaper / looking through the paper
    throwing a ball / tossing a ball
    painting a wall / brushing paint on a wall
    walking a dog / taking a dog for a walk
    washing a car / cleaning a car
    climbing a ladder / going up a ladder
    eating an apple / having an apple
    carrying a box / holding a box
    singing a song / singing
    """
)
_PLACES: Final = _concepts(
    """
    in the park / in a green park
    on the street / in the street
    in the kitchen
    by the river / beside a river
    at the market / at a street market
    in the garden / in a yard
    on the beach / by the sea
    near the station / close to a station
    """
)
_FIRMS: Final = _concepts(
    """
    Orvane / Orvane Corp.
    Tellmar / the carrier Tellmar
    Bruno Foods / the grocer Bruno Foods
    Quillon / the software maker Quillon
    Hartwick / Hartwick Motors
    """
)
_FIGURES: Final = _concepts(
    """
    profit / earnings
    revenue / sales
    its share price / its stock
    output / production
    its workforce / staff numbers
    """
)
_DAYS: Final = _concepts("Monday\nTuesday\nWednesday\nThursday\nFriday")

_CAPTION_FRAMES: Final = (
    ("{p} is {a} {l}", "{l}, {p} is {a}", "there is {p} {a} {l}"),
    ("{p} [stops|rests|waits] {l} before {a}", "before {a}, {p} [takes a break|pauses] {l}"),
    ("{p} and {q} are {a}", "{q} is {a} together with {p}"),
)
_NEWS_FRAMES: Final = (
    ("{f} said on {d} that {x} [rose|grew] {few} percent", "{x} at {f} was up {few} percent, it [announced|said] on {d}"),
    ("{f} [will cut|plans to cut] {x} after a [weak|poor] quarter", "after a bad quarter {f} [is reducing|wants to lower] {x}"),
    ("[Shares|Bonds] of {f} [fell|slid] on {d} on news of {x}", "news about {x} sent {f} [lower|down] on {d}"),
)

_FILM: Final = {
    "pos": (
        "a [warm|funny|moving|gripping] [film|movie|picture] with [great|wonderful|superb] [performances|acting|dialogue]",
        "[one of the best|easily the best|the most charming] [films|movies] of the year , [smart|tender] and [alive|honest]",
        "[beautifully shot|cleverly written|wonderfully acted] and [never dull|a joy to watch|full of heart]",
        "the [director|cast] [delivers|gives us] a [delightful|thrilling|rich] [story|comedy|drama]",
    ),
    "neg": (
        "a [dull|tedious|messy|lifeless] [film|movie|picture] with [flat|wooden|awful] [performances|acting|dialogue]",
        "[one of the worst|easily the worst|the most tiresome] [films|movies] of the year , [silly|hollow] and [loud|long]",
        "[badly shot|poorly written|clumsily acted] and [never funny|a chore to watch|empty of ideas]",
        "the [director|cast] [wastes|spoils] a [promising|decent|good] [story|comedy|premise]",
    ),
}
_PRODUCT: Final = {
    "pos": (
        "the [battery|screen|zoom|sound] of this [camera|phone|player] is [excellent|great|amazing]",
        "[very|really] easy to [use|set up] and the [buttons|menus] are [clear|well placed]",
        "i [love|really like] the [size|look|price] of it and [recommend it|would buy it again]",
    ),
    "neg": (
        "the [battery|screen|zoom|sound] of this [camera|phone|player] is [terrible|poor|useless]",
        "[very|really] hard to [use|set up] and the [buttons|menus] are [confusing|badly placed]",
        "it [broke|stopped working|died] after {few} [days|weeks] and [support was no help|i sent it back]",
    ),
}
_QUESTIONS: Final = {
    "ABBR:exp": (
        "What does [NATO|DVD|HTML|UNESCO|AM|PM] [stand for|mean]",
        "What is the [abbreviation|full form] of [CEO|FAQ]",
    ),
    "DESC:def": (
        "What is [a comet|an eclipse|a mortgage|a glacier|inflation]",
        "How do [magnets|clocks|locks|sails] work",
        "Why [is the sky blue|do cats purr|do leaves fall]",
    ),
    "ENTY:other": (
        "What [film|book|song|game] [won|received] the prize in {year}",
        "What [animal|fruit|colour|sport] is [most|least] popular",
    ),
    "HUM:ind": (
        "Who [invented|discovered|wrote|painted] the [telephone|novel|portrait|engine]",
        "What [king|actor|poet] was born in {year}",
    ),
    "LOC:other": (
        "Where is the [largest|oldest] [bridge|harbour|desert]",
        "What [country|city|river] is [near|north of] [Rome|Oslo|Cairo]",
    ),
    "NUM:count": (
        "How many [people|islands|bones|languages] [are there|were there in {year}]",
        "When did the [war|fair|flood] [begin|end]",
    ),
}
_ADDED: Final = ("for the first time", "to win a prize", "before going to school", "because of a bet", "with an old friend")
_DENIALS: Final = ("is asleep at home", "is sitting in an empty room", "is nowhere to be seen", "is swimming in a pool")
_NLI_NOISE: Final = 0.06
_STS_SUBSETS: Final = {
    12: "MSRpar MSRvid SMTeuroparl surprise.OnWN surprise.SMTnews",
    13: "FNWN headlines OnWN",
    14: "deft-forum deft-news headlines images OnWN tweet-news",
    15: "answers-forums answers-students belief headlines images",
    16: "answer-answer headlines plagiarism postediting question-question",
}
#: Subsets that speak of what is seen; the others report news.
_CAPTIONS: Final = ("MSRvid", "OnWN", "surprise.OnWN", "images", "answers-students", "answer-answer", "question-question")


def build_general_files(seed: int) -> dict[str, bytes]:
    """Return the files below ``downstream`` and ``probing`` by their path."""
    files: dict[str, bytes] = {}
    for folder, stem, templates, number in (("MR", "rt-polarity", _FILM, 110), ("CR", "custrev", _PRODUCT, 80)):
        writer = Writer(seed, folder)
        for label in ("pos", "neg"):
            rows = [_opinion(writer, templates, label) for _ in range(number)]
            # A blank line, which SentEval counts as an item, ends CR's files as it does in the real ones.
            files[f"downstream/{folder}/{stem}.{label}"] = lines([*rows, ""] if folder == "CR" else rows)
    for name, number in (("train", 240), ("dev", 60), ("test", 90)):
        files[f"downstream/SST/fine/sentiment-{name}"] = lines(_graded_opinions(Writer(seed, f"SST5/{name}"), number))
        snli = _inferences(Writer(seed, f"SNLI/{name}"), {"train": 300, "dev": 90, "test": 90}[name])
        for stem, column in (("s1", 0), ("s2", 1), ("labels", 2)):
            files[f"downstream/SNLI/{stem}.{name}"] = lines(row[column] for row in snli)
        pairs = _caption_pairs(Writer(seed, f"STSBenchmark/{name}"), {"train": 160, "dev": 60, "test": 80}[name])
        files[f"downstream/STS/STSBenchmark/sts-{name}.csv"] = lines(
            "\t".join(
                ["main-captions", "sample", f"2017{name}", f"{i:04d}", _score(pair)]
                + [tokenise(text.lower()) for text in (pair.first, pair.second)]
            )
            for i, pair in enumerate(pairs)
        )
    questions = _questions(Writer(seed, "TREC/train"), 240)
    files["downstream/TREC/train_5500.label"] = _latin1(questions, "DESC:def What is a café ?")
    files["downstream/TREC/TREC_10.label"] = lines(_questions(Writer(seed, "TREC/test"), 90))
    for name, number in (("train", 200), ("test", 100)):
        files[f"downstream/MRPC/msr_paraphrase_{name}.txt"] = _paraphrases(Writer(seed, f"MRPC/{name}"), number)
    for year, subsets in _STS_SUBSETS.items():
        for subset in subsets.split():
            files.update(_sts(Writer(seed, f"STS{year}/{subset}"), year, subset))
    files["probing/past_present.txt"] = lines(_tenses(Writer(seed, "Tense"), 260))
    return files


def _opinion(writer: Writer, templates: Mapping[str, tuple[str, ...]], label: str) -> str:
    source = ("neg" if label == "pos" else "pos") if writer.chance(0.08) else label
    return writer.phrase(writer.pick(templates[source]), {}) + " ."


def _graded_opinions(writer: Writer, number: int) -> list[str]:
    """Return film reviews of five grades: two of a kind, one, one of each, and so down."""
    kinds = (("neg", "neg"), ("neg",), ("pos", "neg"), ("pos",), ("pos", "pos"))
    rows = []
    for _ in range(number):
        grade = writer.number(0, 4)
        parts = [writer.phrase(writer.pick(_FILM[kind]), {}) for kind in kinds[grade]]
        noisy = min(4, max(0, grade + writer.pick([-1, 1]))) if writer.chance(0.12) else grade
        rows.append(f"{noisy} {' , but '.join(parts) if grade == 2 else ' , and '.join(parts)} .")
    return rows


def _questions(writer: Writer, number: int) -> list[str]:
    rows = []
    for _ in range(number):
        label = writer.pick(list(_QUESTIONS))
        source = writer.pick(list(_QUESTIONS)) if writer.chance(0.05) else label
        rows.append(f"{label} {writer.write(writer.pick(_QUESTIONS[source]), {})} ?")
    return rows


def _latin1(rows: list[str], extra: str) -> bytes:
    """As the real training file: one line that is not UTF-8."""
    return "".join(f"{row}\n" for row in [*rows, extra]).encode("latin-1")


def _caption_scene(writer: Writer) -> dict[str, Concept]:
    person = writer.pick(_PEOPLE)
    return {
        "p": person,
        "q": writer.pick_other(_PEOPLE, person),
        "a": writer.pick(_ACTIONS),
        "l": writer.pick(_PLACES),
    }


def _news_scene(writer: Writer) -> dict[str, Concept]:
    return {"f": writer.pick(_FIRMS), "x": writer.pick(_FIGURES), "d": writer.pick(_DAYS)}


def _caption_pairs(writer: Writer, number: int) -> list[SimilarPair]:
    return [write_pair(writer, _CAPTION_FRAMES, _caption_scene, ("p", "a"), 0.0) for _ in range(number)]


def _score(pair: SimilarPair) -> str:
    return f"{round(5 * 5 * pair.closeness) / 5:.3f}"


def _inferences(writer: Writer, number: int) -> list[tuple[str, str, str]]:
    labels = ("entailment", "neutral", "contradiction")
    rows = []
    for i in range(number):
        scene = _caption_scene(writer)
        label = labels[i % 3]
        premise = writer.write("{p} is {a} {l}", scene)
        if label == "entailment":
            template = writer.pick(("{p} is {a}", "{p} is [outside or inside|somewhere] , {a}", "{p} is {l}"))
            hypothesis = writer.write(template, scene)
        elif label == "neutral":
            hypothesis = writer.write(f"{{p}} is {{a}} {writer.pick(_ADDED)}", scene)
        else:
            hypothesis = writer.write(f"{{p}} {writer.pick(_DENIALS)}", scene)
        if writer.chance(_NLI_NOISE):
            label = writer.pick_other(labels, label)
        rows.append((f"{premise} . ", f"{hypothesis} . ", label))
    return writer.shuffled(rows)


def _paraphrases(writer: Writer, number: int) -> bytes:
    rows = ["\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String"]
    for i in range(number):
        pair = write_pair(writer, _NEWS_FRAMES, _news_scene, ("f",), 0.0)
        same = (pair.closeness > 0.5) != writer.chance(0.06)
        first, second = (tokenise(text.replace("percent", '" percent "', 1)) for text in (pair.first, pair.second))
        rows.append(f"{int(same)}\t{90000 + 2 * i}\t{90001 + 2 * i}\t{first}\t{second}")
    return lines(rows)


def _sts(writer: Writer, year: int, subset: str) -> dict[str, bytes]:
    frames, scene, kept = (
        (_CAPTION_FRAMES, _caption_scene, ("p", "a")) if subset in _CAPTIONS else (_NEWS_FRAMES, _news_scene, ("f",))
    )
    pairs = [write_pair(writer, frames, scene, kept, 0.0) for _ in range(40)]
    folder = f"downstream/STS/STS{year}-en-test"
    # From 2015 on not every pair was judged: its gold line is blank.
    scores = ["" if year >= 15 and i % 5 == 4 else _score(pair) for i, pair in enumerate(pairs)]
    return {
        f"{folder}/STS.input.{subset}.txt": lines(f"{pair.first}\t{pair.second}" for pair in pairs),
        f"{folder}/STS.gs.{subset}.txt": lines(scores),
    }


def _tenses(writer: Writer, number: int) -> list[str]:
    verbs = (("walks", "walked"), ("plays", "played"), ("opens", "opened"), ("paints", "painted"), ("likes", "liked"))
    rows = []
    for i in range(number):
        present, past = writer.pick(verbs)
        label = writer.pick(["PRES", "PAST"])
        said = past if (label == "PAST") != writer.chance(0.05) else present
        text = writer.phrase(f"{{p}} {said} [a door|the game|a picture|home] {{l}}", _caption_scene(writer))
        rows.append(f"{'tr' if i < 160 else 'va' if i < 200 else 'te'}\t{label}\t{text} .")
    return rows

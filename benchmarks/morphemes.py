"""Invented names of diseases and procedures, as many as wanted, from a small grammar of medical morphemes.

The names are ours and mean nothing. They have what makes a real terminology hard to search: a few hundred morphemes that come
back everywhere, families of names that differ in a side or a stage, and lengths from one word to a dozen.
"""

# ruff: noqa: SIM905 (one word after the other reads better than hundreds of quotation marks)
from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import accumulate

ROOTS = (
    "cardi neur hepat nephr derm gastr enter col arthr oste my chondr angi phleb arteri hem leuk lymph splen thyr "
    "adren pancreat cholecyst cyst ureter urethr prostat orchi hyster salping oophor mast pneum bronch pleur "
    "laryng pharyng rhin ot ophthalm retin kerat irid blephar encephal myel mening radicul gangli stomat gloss "
    "gingiv odont cheil proct append hernia vascul aden lip fibr sarc carcin melan gli blast thromb ather scler "
    "spondyl tars carp metatars rachi cost stern clavicul scapul humer femor tibi fibul patell"
).split()
PREFIXES = (
    "peri endo epi hypo hyper poly oligo dys a anti pan para sub supra intra inter trans retro pre post micro "
    "macro pseudo neo iso hemi bi tri mega auto"
).split()
SUFFIXES = (
    "itis osis oma opathy algia ectomy otomy ostomy oscopy ography oplasty orrhaphy orrhagia orrhea olysis omegaly "
    "openia ocele osclerosis ospasm omalacia ometry opexy odynia iasis emia uria"
).split()
SITES = (
    "skin of scalp|skin of eyelid|external ear|middle ear|nasal septum|maxillary sinus|floor of mouth|upper lip|"
    "soft palate|parotid gland|cervical esophagus|gastric fundus|duodenum|jejunum|terminal ileum|cecum|"
    "sigmoid colon|rectum|anal canal|gallbladder|common bile duct|tail of pancreas|spleen|renal pelvis|"
    "bladder neck|urethra|prostate|seminal vesicle|testis|ovary|fallopian tube|endometrium|cervix|breast|thyroid|"
    "parathyroid gland|adrenal cortex|pituitary|pineal body|frontal lobe|temporal lobe|cerebellum|brain stem|"
    "spinal cord|sciatic nerve|median nerve|facial nerve|carotid artery|aortic arch|femoral vein|pulmonary artery|"
    "mitral valve|left ventricle|right atrium|pericardium|upper lobe of lung|main bronchus|pleura|diaphragm|"
    "cervical vertebra|lumbar disc|hip joint|knee joint|shaft of femur|neck of humerus|distal radius|scaphoid|"
    "metacarpal bone|phalanx of thumb|great toe|achilles tendon|rotator cuff"
).split("|")
QUALITIES = (
    "acute|chronic|recurrent|congenital|acquired|severe|mild|primary|secondary|benign|malignant|idiopathic|"
    "traumatic|infectious|allergic|toxic|hereditary|juvenile|senile|diffuse|focal|nodular|cystic|atrophic|"
    "granulomatous|ischemic|hemorrhagic|obstructive"
).split("|")
SIDES = ("left", "right", "bilateral")
STAGES = (
    "stage I",
    "stage II",
    "stage III",
    "grade 1",
    "grade 2",
    "grade 3",
    "type A",
    "type B",
    "first degree",
    "second degree",
)
CAUSES = ("due to", "caused by", "associated with", "following")
AGENTS = (
    "Streptococcus pneumoniae|Escherichia coli|Candida albicans|herpes simplex virus|cytomegalovirus|"
    "Mycobacterium avium|radiation|alcohol|lithium|penicillin|cisplatin|diabetes mellitus|pregnancy|trauma|"
    "hypertension|lupus erythematosus|vitamin D deficiency|iron overload|amyloidosis|sarcoidosis"
).split("|")


def invented_names(n: int, seed: int = 0) -> list[str]:
    """Return ``n`` different names; a longer list begins with the shorter ones of the same seed."""
    draw = _Grammar(random.Random(seed))
    names: dict[str, None] = {}
    while len(names) < n:
        names.setdefault(draw.name())
    return list(names)


class _Grammar:
    """Draws names; the first morphemes of each list are the most frequent, as in any vocabulary."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self._weights: dict[int, list[float]] = {}

    def pick(self, choices: Sequence[str]) -> str:
        n = len(choices)
        if n not in self._weights:
            self._weights[n] = list(accumulate(1 / (rank + 2) for rank in range(n)))
        return self.rng.choices(choices, cum_weights=self._weights[n])[0]

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def word(self) -> str:
        prefix = self.pick(PREFIXES) if self.chance(0.25) else ""
        second = f"o{self.pick(ROOTS)}" if self.chance(0.3) else ""
        return prefix + self.pick(ROOTS) + second + self.pick(SUFFIXES)

    def name(self) -> str:
        parts = [self.word()]
        if self.chance(0.5):
            parts.insert(0, self.pick(QUALITIES))
        if self.chance(0.65):
            side = f"{self.pick(SIDES)} " if self.chance(0.3) else ""
            parts.append(f"of {side}{self.pick(SITES)}")
        if self.chance(0.15):
            parts.append(f"{self.pick(CAUSES)} {self.pick(AGENTS)}")
        elif self.chance(0.05):
            parts.append(f"with {self.word()}")
        if self.chance(0.15):
            parts.append(self.pick(STAGES))
        name = " ".join(parts)
        return name[0].upper() + name[1:]

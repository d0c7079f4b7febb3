"""Build sets of similar and dissimilar terms from an ontology, and see which encoder tells them apart.

    pip install 'medsenteval[terms]'
    python examples/term_sets.py

The ontology is invented and written by this script; hp.obo of the Human Phenotype Ontology works the same. `lexical` knows
spelling only: it is good where similar terms look alike (easy) and turned around where they do not (hard).
"""

import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path

SITES = {"heart": "cardiac", "kidney": "renal", "liver": "hepatic", "lung": "pulmonary", "skin": "cutaneous", "bone": "osseous"}
FINDINGS = {
    "inflammation": "infection-like swelling",
    "enlargement": "abnormally large size",
    "scarring": "fibrosis",
    "failure": "loss of function",
}


def invented_ontology() -> str:
    """Return terms such as "Inflammation of heart" with the exact synonym "Cardiac infection-like swelling"."""
    stanzas = ["format-version: 1.2\nontology: invented\n"]
    for number, ((site, adjective), (finding, other)) in enumerate(product(SITES.items(), FINDINGS.items())):
        stanzas.append(
            f"[Term]\nid: INV:{number:04}\nname: {finding.capitalize()} of {site}\n"
            f'synonym: "{adjective.capitalize()} {other}" EXACT []\nsynonym: "{finding.capitalize()} of the {site}" EXACT []\n'
        )
    return "\n".join(stanzas)


def medsenteval(*arguments: str) -> None:
    print("$ medsenteval", *arguments, flush=True)
    if code := subprocess.run([sys.executable, "-m", "medsenteval", *arguments]).returncode:
        sys.exit(code)  # the message above says what is missing


if __name__ == "__main__":
    folder = Path(tempfile.mkdtemp())
    (folder / "invented.obo").write_text(invented_ontology(), "utf-8")
    medsenteval("terms", "build", "--obo", str(folder / "invented.obo"), "-o", str(folder / "sets"), "--quiet")
    medsenteval(
        "terms", "evaluate", str(folder / "sets"), "-e", "lexical", "-e", "lexical,dimension=32,name=small",
        "-s", "FSN_SYN,levenshtein", "-o", str(folder / "results"),
    )  # fmt: skip

"""A sentence-transformers model, by name or folder, beside the embedded encoder.

pip install 'medsenteval[transformers]'
python examples/sentence_transformer.py [MODEL] [DATA]
"""

import sys

import medsenteval

MODEL = sys.argv[1] if len(sys.argv) > 1 else "all-MiniLM-L6-v2"
DATA = sys.argv[2] if len(sys.argv) > 2 else None

if __name__ == "__main__":
    for encoder in (f"sentence-transformers:{MODEL},name=model", "lexical"):
        print(medsenteval.evaluate(encoder, tasks="BioASQ,ClinicalSTS,BIOSSES", data=DATA), end="\n\n")
    # A model that you have in memory is handed over as it is, with the name and the cache of its specification:
    # medsenteval.evaluate(SentenceTransformer(MODEL))

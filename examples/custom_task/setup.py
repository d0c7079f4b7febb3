"""Add a data set to MedSentEval: pip install ./examples/custom_task, then medsenteval run -t Lesions -d DATA."""

from setuptools import setup

setup(
    name="medsenteval-lesions",
    version="1.0",
    py_modules=["lesions"],
    install_requires=["medsenteval"],
    entry_points={"medsenteval.tasks": ["Lesions = lesions:TASK"]},
)

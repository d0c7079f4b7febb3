"""Tests of MedSentEval, in the layout of its tree."""

import os
import sys

# A process that may write no bytecode compiles anew every module that it imports, torch's and scikit-learn's among them, which
# takes most of the time of the many processes that tests start.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
    sys.dont_write_bytecode = False

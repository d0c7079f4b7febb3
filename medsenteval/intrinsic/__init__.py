"""After word similarity runs: pairs that all encoders know, subsets of words, and whether such scores predict others."""

from medsenteval.intrinsic.columns import Columns, columns_of_results, read_published_columns, read_score_table
from medsenteval.intrinsic.common import CommonPairs, common_pairs
from medsenteval.intrinsic.prediction import Cell, correlate_columns
from medsenteval.intrinsic.subsets import Subsets, SubsetScore, read_word_values, subset_scores

__all__ = [
    "Cell",
    "Columns",
    "CommonPairs",
    "SubsetScore",
    "Subsets",
    "columns_of_results",
    "common_pairs",
    "correlate_columns",
    "read_published_columns",
    "read_score_table",
    "read_word_values",
    "subset_scores",
]

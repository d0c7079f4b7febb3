"""The statistics that every comparison in the toolkit rests on; docs/statistics.md says in plain words which to use when."""

from medsenteval.statistics.agreement import agreement_with_others, krippendorff_alpha, pairwise_agreement, rater_agreement
from medsenteval.statistics.association import Association, associate
from medsenteval.statistics.corrections import benjamini_hochberg, bonferroni, correct, correct_pairs, holm
from medsenteval.statistics.correlation_tests import compare_independent, steiger_test, williams_test
from medsenteval.statistics.intervals import (
    accuracy_difference_interval,
    accuracy_interval,
    correlation,
    correlation_interval,
    f1_from_counts,
    f1_interval,
    f1_share_interval,
    mean_share_interval,
    share_interval,
)
from medsenteval.statistics.mcnemar import mcnemar, mcnemar_matrix, mcnemar_p_values
from medsenteval.statistics.outcomes import Interval, Significance
from medsenteval.statistics.paired_bootstrap import Bootstrap, Method, bootstrap
from medsenteval.statistics.tests_over_tasks import FriedmanOutcome, critical_difference, friedman, wilcoxon_over_tasks
from medsenteval.statistics.weighted_scores import Accuracies, Correlation, F1Scores, Means, WeightedScore, correlations

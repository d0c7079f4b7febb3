"""Where work runs: in this process, in worker processes, or on a Dask cluster; the answer is the same to the last bit.

Work is cut into units by the data and the settings alone, never by the number of workers:

- a unit of texts to encode, on one thread;
- an outer fold of nested cross-validation, for back ends that fit fold by fold, on one thread;
- otherwise the whole scoring of one task. The exact probe stays whole: it fits all folds in the same matrix products, and
  ten outer folds apart were measured at 1.7 to 5 times the work of all together.

The process that was started, the coordinator, hands out units, writes the cache and the results, and does whatever cannot
be sent. Workers return what they computed, so that the cache has one writer and a cluster needs no shared disk.
"""

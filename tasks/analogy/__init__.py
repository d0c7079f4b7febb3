"""Analogy data sets: BMASS (Newman-Griffis, Lai and Fosler-Lussier 2017) and the general formats of Google, MSR and BATS."""

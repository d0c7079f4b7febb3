"""The ten biomedical sentence tasks of the MedSentEval paper (Tawfik and Spruit 2020)."""

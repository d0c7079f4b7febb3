"""Encoders: one adapter per kind of weights, each imported only when its name is asked for."""

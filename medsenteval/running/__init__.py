"""Encoders by tasks into stored results: planned, resumed, in this process or on workers."""

"""Compiled loops over plain arrays; nothing here knows Python objects."""

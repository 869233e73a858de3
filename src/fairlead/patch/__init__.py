"""Patches as text: read, placed in memory, and written to disk all-or-nothing."""

"""Frozen values that travel from stage to stage. Imports nothing else of ours."""

"""Options: typed, documented, in one place."""

"""Our own mistakes, in one line; where they happened is in the traceback, for who asks for it."""

from __future__ import annotations

import os
import traceback

TRACEBACK_VARIABLE = "FAIRLEAD_TRACEBACK"


def described(error: Exception) -> str:
    """What to report. With the variable set, everything."""
    if os.environ.get(TRACEBACK_VARIABLE):
        return "".join(traceback.format_exception(error)).rstrip()
    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{os.path.basename(frame.filename)}:{frame.lineno}"
    what = f"{type(error).__name__}: {error} ({where})"
    return f"BUG: {what}; please report it with what {TRACEBACK_VARIABLE}=1 shows"

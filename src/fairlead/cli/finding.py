"""What `fairlead doctor` found out, one thing at a time."""

from __future__ import annotations

from fairlead.model.frozen import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at."""

    what: str
    ok: bool
    found: str
    remedy: str = ""
    needed: bool = False  # without it Fairlead does not do its job here

    def __str__(self) -> str:
        mark = "ok     " if self.ok else "MISSING" if self.needed else "without"
        text = f"{mark}  {self.what}: {self.found}"
        return f"{text}\n         {self.remedy}" if self.remedy and not self.ok else text

"""Regular expressions from an agent: RE2, because it takes linear time whatever it is given."""

from __future__ import annotations

from typing import Any

from fairlead.model.errors import BadRequest
from fairlead.tools.kinds import Kind, text
from fairlead.tools.untrusted_json import quoted

MAX_PATTERN = 4096
_clean = text().check


def compile_pattern(
    pattern: str, *, literal: bool = False, ignore_case: bool = False, where: str = "pattern"
) -> Any:
    """A compiled pattern for text or bytes of UTF-8. Raises `BadRequest` naming what is wrong."""
    # Imported late: few calls have a pattern, and loading the library takes milliseconds.
    import re2

    options = re2.Options()
    options.log_errors = False  # it would write to our stderr
    options.literal = literal
    options.case_sensitive = not ignore_case
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        why, _, piece = error.args[0].decode(errors="replace").partition(": ")
        found = f"{why}: {quoted(piece)}" if piece else why
        raise BadRequest(f"{where}: not a regular expression (RE2 syntax): {found}") from None


def compile_by_lines(pattern: str, *, where: str) -> Any:
    """The same for output as it comes: `^` and `$` match at the ends of each line, which on a
    terminal are CR LF."""
    from fairlead.session.grep import DOLLAR_OR_OPAQUE

    compile_pattern(pattern, where=where)  # so that a refusal shows what was written
    spelled = pattern.encode()
    lines = DOLLAR_OR_OPAQUE.sub(lambda part: b"(?:\\r?$)" if part[0] == b"$" else part[0], spelled)
    return compile_pattern(f"(?m){lines.decode()}", where=where)


def bounded_pattern() -> Kind:
    """A pattern by its text and length. Whether it compiles depends on what else was said."""

    def check(value: object, where: str) -> str:
        pattern: str = _clean(value, where)
        if not pattern:
            raise BadRequest(f"{where}: must not be empty")
        if len(pattern) > MAX_PATTERN:
            raise BadRequest(f"{where}: longer than {MAX_PATTERN} characters")
        return pattern

    return Kind({"type": "string", "maxLength": MAX_PATTERN}, check)

"""Arguments that several tools share, said once."""

from __future__ import annotations

from typing import Any

from fairlead.model.errors import BadRequest
from fairlead.model.params import SandboxPermissions
from fairlead.tools.fields import Field
from fairlead.tools.kinds import choice, flag, integer, session_ref, text, texts
from fairlead.tools.permissions import additional, fold_additional

DAY_MS = 24 * 60 * 60 * 1000
DEFAULT_TIMEOUT_MS = 10_000
DEFAULT_OUTPUT_TOKENS = 10_000
MAX_OUTPUT_TOKENS = 1_000_000
MAX_TERMINAL = 1000  # rows or columns

WORKDIR_DOC = "Directory to run in; relative paths start at the session's own. Empty means absent."

MAX_TOKENS = Field(
    "max_output_tokens",
    integer(0, MAX_OUTPUT_TOKENS),
    "Longest output to return, in tokens of 4 bytes; the middle of a longer one is left out.",
    default=DEFAULT_OUTPUT_TOKENS,
)
LOGIN = Field("login", flag(), "Run the shell as a login shell.", default=True)
SESSION = Field("session_id", session_ref(), "The session's number or name.", required=True)


def workdir(*aliases: str) -> Field:
    """Where to run."""
    return Field("workdir", text(empty_is_absent=True), WORKDIR_DOC, aliases=aliases)


def timeout_ms(*aliases: str) -> Field:
    """How long the process may live."""
    return Field(
        "timeout_ms",
        integer(1, DAY_MS),
        "Milliseconds the command may live; then its whole process tree is ended (exit code 124).",
        default=DEFAULT_TIMEOUT_MS,
        aliases=aliases,
    )


def terminal_size(*, required: bool = False) -> tuple[Field, Field]:
    """Rows and columns."""
    rows, cols = (None, None) if required else (24, 80)
    return (
        Field("rows", integer(1, MAX_TERMINAL), "Terminal height.", rows, required),
        Field("cols", integer(1, MAX_TERMINAL), "Terminal width.", cols, required),
    )


PERMISSIONS = (
    # No default in the table: whether it was said matters to `fold_escalation`.
    Field(
        "sandbox_permissions",
        choice(SandboxPermissions),
        "require_escalated asks to run outside the sandbox, with_additional_permissions to run "
        "inside with more (a person decides). Default: use_default.",
    ),
    Field(
        "additional_permissions",
        additional(),
        "What more: directories by absolute path, the network.",
    ),
    Field(
        "justification",
        text(empty_is_absent=True),
        "One sentence for the person who is asked: why this command is needed.",
    ),
    Field(
        "prefix_rule",
        texts(),
        "First words of the command that a lasting permission could cover.",
    ),
    Field("with_escalated_permissions", flag(), older=True),
)


def fold_escalation(tool: str, values: dict[str, Any]) -> dict[str, Any]:
    """The older spelling of escalation becomes the one that we use; a contradiction is refused."""
    escalated = values.pop("with_escalated_permissions")
    said = values["sandbox_permissions"]
    older = None if escalated is None else _permissions(escalated)
    if said and older and said is not older:
        raise BadRequest(
            f'{tool}: "with_escalated_permissions" contradicts "sandbox_permissions"; '
            "give only the latter"
        )
    values["sandbox_permissions"] = said or older or SandboxPermissions.USE_DEFAULT
    # An empty suggestion would read as "every command" to whoever stores it as a rule.
    values["prefix_rule"] = values["prefix_rule"] or None
    return fold_additional(tool, values)


def _permissions(escalated: bool) -> SandboxPermissions:
    if escalated:
        return SandboxPermissions.REQUIRE_ESCALATED
    return SandboxPermissions.USE_DEFAULT

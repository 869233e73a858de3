"""`apply_patch`: a patch as JSON argument or as raw text."""

from __future__ import annotations

from pathlib import Path

from fairlead.model.errors import BadRequest
from fairlead.model.frozen import dataclass
from fairlead.model.output import Status
from fairlead.model.params import ExecParams
from fairlead.tools.answer import facts, refusal
from fairlead.tools.fields import Arguments, Field
from fairlead.tools.kinds import text
from fairlead.tools.model import Annotations, ToolOutput
from fairlead.tools.patching import apply
from fairlead.tools.structured import outcome_schema
from fairlead.tools.toolbox import Call

NAME = "apply_patch"
TITLE = "Edit files"
DESCRIPTION = (
    "Adds, deletes, changes and moves files, all of them or none. The patch stands between "
    "`*** Begin Patch` and `*** End Patch` and has sections `*** Add File: PATH` (lines with +), "
    "`*** Delete File: PATH`, and `*** Update File: PATH` (optionally `*** Move to: PATH`; hunks "
    "begin with `@@`, optionally naming a line above them, and have lines with space, - or +; "
    "`*** End of File` anchors a hunk at the end)."
)
ANNOTATIONS = Annotations(read_only=False, destructive=True, idempotent=False, open_world=False)
OUTPUT_SCHEMA = outcome_schema(
    files={
        "type": "array",
        "items": {
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "change": {"type": "string", "enum": ["A", "M", "D"]},
            },
            "required": ["path", "change"],
        },
    }
)

FIRST_LINE = "*** Begin Patch"

ARGUMENTS = Arguments(
    NAME,
    Field("input", text(filled=True), "The whole patch.", required=True, aliases=("patch",)),
)


@dataclass(frozen=True, slots=True)
class Args:
    """A checked call of `apply_patch`: its text, not yet read as a patch."""

    input: str


def parse(untrusted: object) -> Args:
    """The checked call, from arguments or from the patch itself. Raises `BadRequest`."""
    if isinstance(untrusted, str) and untrusted.lstrip().startswith(FIRST_LINE):
        return parse_custom(untrusted)
    return Args(**ARGUMENTS.parse(untrusted))


def parse_custom(untrusted_text: str) -> Args:
    """The checked call, from a free-form payload that is nothing but the patch."""
    return Args(**ARGUMENTS.parse({"input": untrusted_text}))


async def run(args: Args, call: Call) -> ToolOutput:
    """Apply the patch, whole or not at all."""
    params = ExecParams(
        call_id=call.call_id,
        agent=call.agent,
        tool=NAME,
        argv=(NAME, args.input),
        cwd=Path(call.box.cwd),
    )
    applied = await apply(call, params, args.input, params.cwd)
    if applied.error is not None:
        kind = "bad_request" if isinstance(applied.error, BadRequest) else "patch_failed"
        return refusal(Status.FAILED, applied.text, kind)
    changed = [{"path": path, "change": change} for change, path in applied.files]
    data = {
        "status": str(Status.COMPLETED),
        "output": applied.text,
        "files": changed,
        "approval": applied.approval,
    }
    return facts(applied.text, data)

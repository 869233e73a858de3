"""Running a request for a tool: a patch in disguise is applied, everything else is executed."""

from __future__ import annotations

from fairlead.model.output import ExecOutput
from fairlead.model.params import ExecParams
from fairlead.tools.patching import instead_of_running
from fairlead.tools.toolbox import Call


async def run_request(call: Call, params: ExecParams, yield_time: float | None) -> ExecOutput:
    """Run it and wait at most `yield_time` seconds; without one, to the end."""
    output = await instead_of_running(call, params)
    if output is None:
        output = await call.box.orchestrator.run(params, yield_time)
        call.told(output)
    return output

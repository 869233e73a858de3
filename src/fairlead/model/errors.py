"""The whole exception tree. A class is named for what the caller does next.

ExecError
├── BadRequest      the arguments are wrong: correct them (exit 2)
│   └── UnknownSession
├── Rejected        a rule, a person or a missing ability said no: do not retry (exit 1)
├── SpawnFailed     nothing ran: say why (exit 1)
│   └── SandboxFailed   its surroundings could not be set up: look at the machine, plan anew
└── Bug             our own promise broke: stop, and show everything
"""

from __future__ import annotations


class ExecError(Exception):
    """Anything that a caller of Fairlead may have to handle."""


class BadRequest(ExecError):
    """The request is malformed. The text names the field and what is allowed."""


class UnknownSession(BadRequest):
    """No such session for this agent, neither living nor remembered."""


class Rejected(ExecError):
    """A rule or a person said no, or what the policy demands can't be enforced here."""


class SpawnFailed(ExecError):
    """Nothing ran."""

    def __init__(self, message: str, *, step: str, errno: int) -> None:
        super().__init__(message)
        self.step = step
        self.errno = errno


class SandboxFailed(SpawnFailed):
    """What was to stand around the command could not be set up."""


class Bug(ExecError):
    """Our own promise broke."""

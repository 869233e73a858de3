"""Argument tables: one declaration gives a tool's JSON schema and its parser.

Not pydantic, because importing it costs 70-155 ms in a program that starts once per command, and
because our refusals name the field and what is allowed in one line that a model can act on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

from fairlead.model.errors import BadRequest
from fairlead.model.frozen import dataclass
from fairlead.tools.kinds import Kind
from fairlead.tools.untrusted_json import quoted, shown, untrusted_object

MAX_LISTED = 20
MAX_GUESSED = 64  # characters of a name worth comparing


@dataclass(frozen=True, slots=True)
class Field:
    """One argument. An `older` one is understood and never advertised, like an alias."""

    name: str
    kind: Kind
    doc: str = ""
    default: Any = None
    required: bool = False
    aliases: tuple[str, ...] = ()
    older: bool = False

    def schema(self) -> dict[str, Any]:
        """This argument's part of the tool's schema."""
        found: dict[str, Any] = {**self.kind.schema, "description": self.doc}
        if isinstance(self.default, bool | int | str):
            default = self.default
            found["default"] = default.value if isinstance(default, Enum) else default
        return found


class Arguments:
    """The arguments of one tool.

    A JSON null counts as absent: clients that must fill in every field send it for those that
    they don't mean.
    """

    def __init__(self, tool: str, *fields: Field) -> None:
        self.tool = tool
        self.fields = fields
        self._defaults = {field.name: field.default for field in fields}
        self._required = frozenset(field.name for field in fields if field.required)
        self._accepted = {
            name: (field.name, field.kind.check, f"{tool}.{name}")
            for field in fields
            for name in (field.name, *field.aliases)
        }

    def schema(self) -> dict[str, Any]:
        """The JSON schema that a model is shown."""
        shown_fields = [field for field in self.fields if not field.older]
        return {
            "type": "object",
            "properties": {field.name: field.schema() for field in shown_fields},
            "required": [field.name for field in shown_fields if field.required],
            "additionalProperties": False,
        }

    def parse(self, untrusted: object) -> dict[str, Any]:
        """A checked value for every argument, from a dict or JSON text. Raises `BadRequest`."""
        given = untrusted_object(self.tool, untrusted)
        accepted = self._accepted
        if not given.keys() <= accepted.keys():
            raise self._unknown(given)
        values = self._defaults.copy()
        spelled: dict[str, str] = {}
        for key, raw in given.items():
            if raw is None:
                continue
            name, check, where = accepted[key]  # type: ignore[index]  # checked above
            value = check(raw, where)
            if name in spelled and values[name] != value:
                raise self._contradiction(spelled[name], where)
            values[name] = value
            spelled[name] = where
        if not self._required <= spelled.keys():
            raise self._missing(spelled)
        return values

    def _unknown(self, given: Mapping[object, object]) -> BadRequest:
        names = [key for key in given if key not in self._accepted]
        # Guessing is slow: only for those that are listed.
        listed = _listed([self._guessed(name) for name in names[:MAX_LISTED]], len(names))
        allowed = ", ".join(field.name for field in self.fields if not field.older) or "none"
        plural = "s" if len(names) > 1 else ""
        return BadRequest(f"{self.tool}: unknown field{plural} {listed}; allowed: {allowed}")

    def _guessed(self, name: object) -> str:
        if not isinstance(name, str):
            return shown(name)
        if len(name) > MAX_GUESSED:
            return quoted(name)
        from difflib import get_close_matches

        close = get_close_matches(name.lower(), self._accepted, n=1)
        return (
            f'{quoted(name)} (did you mean "{self._offered(close[0])}"?)' if close else quoted(name)
        )

    def _offered(self, accepted: str) -> str:
        return self._accepted[accepted][0]

    def _contradiction(self, first: str, second: str) -> BadRequest:
        names = [f'"{where.rpartition(".")[2]}"' for where in (first, second)]
        same = f"{names[0]} and {names[1]} name the same field and differ; give one"
        return BadRequest(f"{self.tool}: {same}")

    def _missing(self, spelled: Mapping[str, str]) -> BadRequest:
        names = [
            field.name for field in self.fields if field.required and field.name not in spelled
        ]
        plural = "s" if len(names) > 1 else ""
        listed = ", ".join(quoted(name) for name in names)
        return BadRequest(f"{self.tool}: missing required field{plural} {listed}")


def _listed(names: Sequence[str], total: int) -> str:
    more = f" and {total - len(names)} more" if total > len(names) else ""
    return ", ".join(names) + more

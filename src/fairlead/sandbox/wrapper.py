"""A program that confines what its own words are followed by: how the backends without our
launcher say what they want.

A plan that is wrapped says so in its very argv: a spawner that knows nothing of wrappers still
runs nothing unconfined.
"""

from __future__ import annotations

from fairlead.model.env import ExecEnv
from fairlead.model.frozen import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrapper:
    """The program and its words. What it reads of `attached` the command does not see."""

    argv: tuple[str, ...]
    attached: tuple[tuple[int, bytes], ...] = ()
    directory_option: str | None = None  # for one that would forget where it was started

    def around(self, env: ExecEnv) -> ExecEnv:
        """The same command, started by this program."""
        where = (self.directory_option, str(env.cwd)) if self.directory_option else ()
        words = (*self.argv, *where, "--")
        assert env.executable is None, "it would be executed instead"
        taken = {number for number, _ in self.attached} & set(env.attached or {})
        assert not taken, f"descriptors {taken} are wanted twice"
        return replace(
            env,
            argv=(*words, *env.argv),
            wrapped=len(words),
            attached={**(env.attached or {}), **dict(self.attached)} or None,
        )

"""The protected names, in one place, each with the reason."""

from __future__ import annotations

from fairlead.model.sandbox import STARTUP_FILES

# At the top of a writable root. Programs obey these without asking again.
AT_TOP: dict[str, str] = {
    ".fairlead": "our own settings of a project",
    ".claude": "hooks and settings of an agent: they run programs",
    ".codex": "settings of an agent: servers and notifiers it starts",
    ".cursor": "hooks and servers that an editor's agent starts",
    ".gemini": "hooks and servers that an agent starts",
    ".agents": "skills and instructions that agents obey",
    ".mcp.json": "servers that an agent starts",
    ".vscode": "tasks that run when the folder is opened, and paths of programs",
    ".idea": "run configurations and start-up tasks",
}

# Inside a git directory, also where commits are allowed. What is missing must not appear.
IN_GIT: dict[str, str] = {
    "hooks": "programs that git runs",
    "config": "names programs that git runs",
    "config.worktree": "read like config",
    "commondir": "leads git to another config and other hooks",
    "gitdir": "leads git's worktree commands to a directory",
    "info/attributes": "says which files go through programs",
    "branches": "remotes in an old notation: addresses may name programs",
    "remotes": "remotes in an old notation: addresses may name programs",
}

OLD_REMOTES = ("branches", "remotes")  # git makes them empty, if at all

# Inside the git directory of a linked worktree, which shares the rest.
IN_WORKTREE = ("config.worktree", "commondir", "gitdir")

# Where a git directory holds further ones.
MODULES, WORKTREES = "modules", "worktrees"

# What `git commit` in a linked worktree writes in the repository that it belongs to.
SHARED_BY_WORKTREES = ("objects", "refs", "logs")

# Files of the person that hold for every repository. `~` is the home directory.
PERSONAL_CONFIGS = ("/etc/gitconfig", "~/.config/git/config", "~/.gitconfig")


def reason(path: str) -> str:
    """Why nothing may appear there."""
    for name, why in (*AT_TOP.items(), *IN_GIT.items(), (".git", "commits are not allowed here")):
        if path.endswith(f"/{name}"):
            return why
    if path.endswith(tuple(f"/{name}" for name in STARTUP_FILES)):
        return "start-up file: shells and programs obey it when they start"
    return "the settings of git or of Fairlead lead there"

"""PowerShell, 7 (`pwsh`) or the one that Windows brings."""

from __future__ import annotations

from fairlead.model.params import Shell

NAMES = ("pwsh", "powershell")
PLACES = (
    "/usr/local/bin/pwsh",
    "/usr/bin/pwsh",
    r"C:\Program Files\PowerShell\7\pwsh.exe",
    r"C:\Windows\System32\WindowsPowerShell\v1.0\powershell.exe",
)

# Without it Windows writes in the console's code page, which mangles all but ASCII. There may be
# no console to set it on: then it is not needed either.
UTF8_CONSOLE = (
    "try { [Console]::OutputEncoding = $OutputEncoding = "
    "New-Object System.Text.UTF8Encoding $false } catch { };\n"
)


def argv(shell: Shell, script: str, login: bool) -> tuple[str, ...]:
    """The arguments that run `script`; a login shell reads the profile."""
    profile = () if login else ("-NoProfile",)
    return (shell.path, *profile, "-Command", UTF8_CONSOLE + script)

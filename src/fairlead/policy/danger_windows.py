"""What commands of Windows delete, overwrite, format and send."""

from __future__ import annotations

from fairlead.policy.danger_row import Deed, Row, Targets
from fairlead.policy.reading.words import names

_D, _W, _F, _S = Deed.DELETES, Deed.WRITES, Deed.FORMATS, Deed.SENDS
_WORDS, _LAST = Targets.WORDS, Targets.LAST

POWERSHELL = (
    Row(
        "Remove-Item -Force",
        _D,
        names("remove-item ri rm del erase rd rmdir"),
        "deletes without a question",
        pattern=r"(?i)-(fo|r|s$|q$|f$)",
        targets=_WORDS,
        always=True,
    ),
    Row(
        "Remove-Item",
        _D,
        names("remove-item ri rm del erase rd rmdir clear-content clc"),
        "deletes",
        targets=_WORDS,
    ),
    Row(
        "Format-Volume",
        _F,
        names(
            "format-volume clear-disk initialize-disk remove-partition format diskpart"
            " resize-partition"
        ),
        "changes disks",
        always=True,
    ),
    Row(
        "Stop-Computer",
        Deed.STOPS,
        names(
            "stop-computer restart-computer stop-process spps kill stop-service spsv shutdown"
            " taskkill"
        ),
        "stops",
        always=True,
    ),
    Row(
        "opens URL",
        _S,
        names(
            "start-process saps start invoke-item ii explorer mshta rundll32 msedge chrome"
            " firefox iexplore"
        ),
        "opens an address",
        pattern=r"(?i).*https?:",
        always=True,
    ),
    Row(
        "Invoke-WebRequest",
        _S,
        names("invoke-webrequest iwr invoke-restmethod irm curl wget"),
        "sends data",
        pattern=r"(?i)-(me|b|inf|f|cust|d$|T$|X)",
        always=True,
    ),
    Row(
        "Invoke-Expression",
        Deed.RUNS,
        names("invoke-expression iex invoke-command icm add-type"),
        "runs text as a program",
        always=True,
    ),
    Row("runas", Deed.BECOMES, names("runas gsudo sudo"), "runs as somebody else", always=True),
    Row(
        "Set-ExecutionPolicy",
        Deed.RIGHTS,
        names("set-executionpolicy set-acl icacls takeown set-mppreference add-mppreference"),
        "changes who may do what",
        always=True,
    ),
    Row(
        "Move-Item",
        _W,
        names("move-item mi mv move copy-item cpi cp copy"),
        "puts files there",
        targets=_LAST,
    ),
    Row(
        "Set-Content",
        _W,
        names("set-content add-content out-file tee-object new-item"),
        "writes",
        targets=_WORDS,
    ),
)
CMD = (
    Row(
        "del /f",
        _D,
        names("del erase rd rmdir"),
        "deletes without a question",
        pattern=r"(?i)-[fsq]",
        targets=_WORDS,
        always=True,
    ),
    Row("del", _D, names("del erase rd rmdir"), "deletes", targets=_WORDS),
    Row(
        "format",
        _F,
        names("format diskpart cipher vssadmin wbadmin bcdedit fsutil"),
        "changes disks",
        always=True,
    ),
    Row(
        "reg delete",
        _D,
        names("reg"),
        "changes the registry",
        (names("delete add import restore"),),
        always=True,
    ),
    Row("shutdown", Deed.STOPS, names("shutdown taskkill sc net"), "stops", always=True),
    Row(
        "opens URL",
        _S,
        names("start explorer mshta rundll32 msedge chrome firefox iexplore"),
        "opens an address",
        pattern=r"(?i).*https?:",
        always=True,
    ),
    Row("runas", Deed.BECOMES, names("runas"), "runs as somebody else", always=True),
    Row(
        "icacls",
        Deed.RIGHTS,
        names("icacls takeown cacls attrib"),
        "changes who may do what",
        always=True,
    ),
    Row(
        "move", _W, names("move copy xcopy robocopy ren rename"), "puts files there", targets=_LAST
    ),
)

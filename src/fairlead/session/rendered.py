r"""Output as text, the way a terminal would show it in the end: progress bars at their last state.

Why not a terminal emulator: it is made for a window, and a log has to come through as it is. Of
25,000 short lines, libghostty-vt (`pyghostty` 0.1.3) gave back the last 301 at 200 columns and the
last 40 at 4,096, with a scrollback of a million or of a billion; it also trims the spaces at line
ends. So here is a screen whose lines have no end and whose top scrolls away without being lost.
Text without escape sequences is copied, and a line is taken apart into cells only when something
is written over it. Work and memory are linear in the input, also for hostile input: no sequence
may touch more than `columns` cells or `ROWS` lines.

A tab stays a tab (a Makefile is still one when it was rendered) until something is written over a
part of it. `\n` also returns to the first column, as a terminal's line discipline does.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache

ROWS = 50  # how far up the cursor can go, as on a tall terminal
TAB = 8

STRING = r"\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|\x1b[PX^_](?:[^\x1b]*\x1b\\|[^\x1b\n]*)"
ESCAPE = rf"\x1b\[[0-?]*[ -/]*[@-~]?|{STRING}|\x1b[ -/]*[0-~]?"
ANSI = re.compile(ESCAPE)
COLOUR = re.compile(r"\x1b\[[0-9;:]*m")
NOT_PLAIN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
TOKEN = re.compile(rf"([^\x00-\x1f\x7f-\x9f]+)|(\r*\n)|({ESCAPE})|([\x00-\x1f])")
CSI = re.compile(r"\x1b\[([<-?]?)([0-9;:]*)([ -/]*)([@-~])")

Cells = list[str]  # a wide character or a tab is followed by empty cells


def render(data: bytes, columns: int = 200) -> str:
    """Text as a terminal shows it after all of `data`; lines longer than `columns` stay whole."""
    text = COLOUR.sub("", data.decode("utf-8", "replace")).replace("\r\n", "\n")
    if NOT_PLAIN.search(text) is None:
        return text
    screen = Screen(max(columns, 1))
    for token in TOKEN.finditer(text):
        screen.feed(token.lastindex or 0, token[0])
    return screen.text()


def plain(text: str) -> str:
    """The text without ANSI escape sequences, everything else as it is."""
    return ANSI.sub("", text)


@lru_cache(maxsize=4096)
def width(char: str) -> int:
    """How many cells a character takes: 0 for marks, 2 for wide ones."""
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def to_cells(text: str) -> Cells:
    """One entry per column; marks belong to the cell before them."""
    if text.isascii() and "\t" not in text:
        return list(text)
    cells: Cells = []
    owner = -1
    for char in text:
        size = TAB - len(cells) % TAB if char == "\t" else width(char)
        if size == 0 and owner >= 0:
            # A heap of marks on one character is an attack on the display, not text.
            cells[owner] += char if len(cells[owner]) < TAB else ""
            continue
        owner = len(cells)
        cells += [char, *[""] * (max(size, 1) - 1)]
    return cells


class Screen:
    """Lines and a cursor. A line is a string until something is written over it."""

    def __init__(self, columns: int) -> None:
        self.columns = columns
        self.lines: list[str | Cells] = [""]
        self.row = self.top = 0
        self.column: int | None = None  # None: at the end of a line that is still a string
        self.pieces: list[str] = []  # of that line: adding to a long string again and again costs
        self.saved = (0, 0)
        self.last = " "
        self.main: tuple[list[str | Cells], int, int, int] | None = None  # under the other screen

    def text(self) -> str:
        """Everything, the lines that scrolled away included; no empty lines below the cursor."""
        self.settle()
        shown = [line if isinstance(line, str) else "".join(line).rstrip() for line in self.lines]
        while len(shown) > self.row + 1 and not shown[-1]:
            shown.pop()
        earlier = ""
        if self.main is not None:
            self.lines, self.row, self.top, _ = self.main
            self.main = None
            earlier = self.text() + "\n"
        return earlier + "\n".join(shown)

    def feed(self, kind: int, token: str) -> None:
        """Take a token: 1 text, 2 line end, 3 escape sequence, 4 control character, 0 nothing."""
        if kind == 1:
            self.write(token)
        elif kind == 2:
            self.down(1)
            self.column = None if self.lines[self.row] == "" else 0
        elif kind == 3:
            self.escape(token)
        elif kind == 4:
            self.control(token)

    # -- writing -------------------------------------------------------------------------------

    def settle(self) -> None:
        """Make a string of the pieces of the current line."""
        line = self.lines[self.row]
        if self.pieces and isinstance(line, str):
            self.lines[self.row] = line + "".join(self.pieces)
        self.pieces = []

    def write(self, text: str) -> None:
        self.last = text[-1]
        if self.column is None:
            self.pieces.append(text)
            return
        cells, new = self.cells(), to_cells(text)
        # No farther than the margin beyond what is there, however far out the cursor stands.
        at = min(self.at(), max(len(cells), self.columns))
        self.overwrite(cells, at, new)
        self.column = at + len(new)

    def overwrite(self, cells: Cells, at: int, new: Cells) -> None:
        if at > len(cells):
            cells += " " * (at - len(cells))
        unpair(cells, at)
        unpair(cells, at + len(new))
        cells[at : at + len(new)] = new

    def cells(self) -> Cells:
        """The current line, taken apart."""
        self.settle()
        line = self.lines[self.row]
        if isinstance(line, str):
            line = to_cells(line)
            self.lines[self.row] = line
            if self.column is None:
                self.column = len(line)
        return line

    def at(self) -> int:
        """The column of the cursor."""
        if self.column is None:
            self.cells()
        return self.column or 0

    def tab(self) -> None:
        if self.column is None:
            self.pieces.append("\t")
            return
        cells, at = self.cells(), self.at()
        stop = at - at % TAB + TAB
        if at == len(cells):
            cells += ["\t", *[""] * (stop - at - 1)]
        self.column = stop if stop <= max(len(cells), self.columns) else at

    # -- moving --------------------------------------------------------------------------------

    def control(self, char: str) -> None:
        if char == "\r":
            self.settle()
            self.column = 0 if self.lines[self.row] else None
        elif char == "\b":
            self.column = max(0, self.at() - 1)
        elif char == "\t":
            self.tab()
        elif char in "\v\f":
            self.go(self.row + 1, self.at())

    def down(self, count: int) -> None:
        """Lines down, the screen scrolling when there are no more."""
        self.settle()
        self.row += count
        self.lines += [""] * (self.row + 1 - len(self.lines))
        self.top = max(self.top, self.row - ROWS + 1)

    def go(self, row: int, column: int) -> None:
        """To a place on the screen; a row is counted from the beginning of all lines."""
        row = min(max(row, self.top), self.top + ROWS - 1)
        self.lines += [""] * (row + 1 - len(self.lines))
        self.row = row
        self.column = max(column, 0)

    def across(self, column: int) -> None:
        """To a column, no farther than the margin, or than the line goes beyond it."""
        self.column = max(0, min(column, max(self.columns, len(self.cells())) - 1))

    # -- escape sequences ----------------------------------------------------------------------

    def escape(self, token: str) -> None:
        sequence = CSI.fullmatch(token)
        if sequence is None:
            if action := ESCAPES.get(token[1:]):
                self.settle()
                action(self)
            return
        private, arguments, between, final = sequence.groups()
        numbers = [number(part) for part in arguments.split(";")[:16]]
        if private == "?" and final in "hl" and {47, 1047, 1049} & set(numbers):
            self.other_screen(final == "h")
        elif not private and not between and (move := SEQUENCES.get(final)):
            self.settle()
            move(self, numbers)

    def save(self) -> None:
        self.saved = (self.row - self.top, self.at())

    def restore(self) -> None:
        self.go(self.top + self.saved[0], self.saved[1])

    def reverse_index(self) -> None:
        if self.row > self.top:
            self.go(self.row - 1, self.at())
        else:
            self.insert_lines(1)

    def reset(self) -> None:
        self.clear_screen()
        self.go(self.top, 0)

    def clear_screen(self) -> None:
        column = self.at()
        self.lines[self.top :] = [""] * (len(self.lines) - self.top)
        self.column = column

    def erase_display(self, how: int) -> None:
        if how == 0:
            self.erase_line(0)
            below = len(self.lines) - self.row - 1
            self.lines[self.row + 1 :] = [""] * below
        elif how == 1:
            self.erase_line(1)
            self.lines[self.top : self.row] = [""] * (self.row - self.top)
        elif how == 2:
            self.clear_screen()

    def erase_line(self, how: int) -> None:
        at, cells = self.at(), self.cells()
        if how == 2:
            cells.clear()
        elif how == 1:
            # On a real screen a long line has wrapped: only the row of the cursor is erased.
            start = at - at % self.columns
            stop = min(at + 1, len(cells))
            self.overwrite(cells, min(start, stop), [" "] * max(0, stop - start))
        else:
            unpair(cells, at)
            del cells[at:]

    def erase_chars(self, count: int) -> None:
        at, cells = self.at(), self.cells()
        stop = min(at + min(count, self.columns), len(cells))
        if stop > at:
            self.overwrite(cells, at, [" "] * (stop - at))

    def shift_chars(self, count: int) -> None:
        """Insert blanks (positive) or remove characters before the margin."""
        at, cells = self.at(), self.cells()
        stop = min(self.columns, len(cells) + max(count, 0))
        if at >= min(stop, len(cells)):
            return
        unpair(cells, at)
        part, room = cells[at:stop], stop - at
        blanks = [" "] * min(abs(count), room)
        part = blanks + part if count > 0 else part[-count:] + blanks
        cells[at:stop] = part[:room]

    def insert_lines(self, count: int) -> None:
        bottom = self.top + ROWS
        part = [""] * min(count, ROWS) + self.lines[self.row : bottom]
        self.lines[self.row :] = part[: bottom - self.row]
        self.column = 0

    def delete_lines(self, count: int) -> None:
        part = self.lines[self.row :]
        gone = min(count, len(part))
        self.lines[self.row :] = [*part[gone:], *[""] * gone]
        self.column = 0

    def other_screen(self, on: bool) -> None:
        """Full-screen programs draw on a screen of their own and leave the first one as it was."""
        column = self.at()
        if on and self.main is None:
            self.main = (self.lines, self.row, self.top, column)
            self.lines, self.row, self.top, self.column = [""], 0, 0, None
        elif not on and self.main is not None:
            self.lines, self.row, self.top, self.column = self.main
            self.main = None


def number(part: str) -> int:
    """A parameter; what no screen can be large enough for is cut off."""
    digits = part.partition(":")[0]
    return min(int(digits[:6]), 9999) if digits else 0


def unpair(cells: Cells, at: int) -> None:
    """Before a cut at `at`: a wide character or tab that it would divide becomes blanks."""
    if not 0 < at < len(cells) or cells[at]:
        return
    start = at
    while start > 0 and not cells[start]:
        start -= 1
    stop = at
    while stop < len(cells) and not cells[stop]:
        stop += 1
    cells[start:stop] = " " * (stop - start)


def first(numbers: list[int]) -> int:
    """The first parameter, where nothing and 0 mean 1."""
    return numbers[0] or 1


def place(screen: Screen, numbers: list[int]) -> None:
    column = numbers[1] if len(numbers) > 1 else 1
    screen.go(screen.top + first(numbers) - 1, min(max(column, 1), screen.columns) - 1)


def repeat(screen: Screen, numbers: list[int]) -> None:
    room = screen.columns - screen.at()
    if room > 0:
        screen.write(screen.last * min(first(numbers), room))


Move = Callable[[Screen, list[int]], None]

SEQUENCES: dict[str, Move] = {
    "A": lambda screen, n: screen.go(screen.row - first(n), screen.at()),
    "B": lambda screen, n: screen.go(screen.row + first(n), screen.at()),
    "C": lambda screen, n: screen.across(screen.at() + first(n)),
    "D": lambda screen, n: screen.across(screen.at() - first(n)),
    "E": lambda screen, n: screen.go(screen.row + first(n), 0),
    "F": lambda screen, n: screen.go(screen.row - first(n), 0),
    "G": lambda screen, n: screen.across(first(n) - 1),
    "`": lambda screen, n: screen.across(first(n) - 1),
    "a": lambda screen, n: screen.across(screen.at() + first(n)),
    "d": lambda screen, n: screen.go(screen.top + first(n) - 1, screen.at()),
    "e": lambda screen, n: screen.go(screen.row + first(n), screen.at()),
    "H": place,
    "f": place,
    "J": lambda screen, n: screen.erase_display(n[0]),
    "K": lambda screen, n: screen.erase_line(n[0]),
    "X": lambda screen, n: screen.erase_chars(first(n)),
    "@": lambda screen, n: screen.shift_chars(first(n)),
    "P": lambda screen, n: screen.shift_chars(-first(n)),
    "L": lambda screen, n: screen.insert_lines(first(n)),
    "M": lambda screen, n: screen.delete_lines(first(n)),
    "b": repeat,
    "s": lambda screen, _: screen.save(),
    "u": lambda screen, _: screen.restore(),
}

ESCAPES: dict[str, Callable[[Screen], None]] = {
    "7": Screen.save,
    "8": Screen.restore,
    "c": Screen.reset,
    "D": lambda screen: screen.go(screen.row + 1, screen.at()),
    "E": lambda screen: screen.feed(2, "\n"),
    "M": Screen.reverse_index,
}

"""The whole output of a session: positions, holes, the disk, lines and search."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fairlead.model.errors import BadRequest
from fairlead.session import grep, line_index, lines, log
from fairlead.session.log import Line, MemoryBudget, OutputLog, Segment

KIB, MIB = 1 << 10, 1 << 20

Chunks = st.lists(
    st.one_of(st.binary(max_size=40), st.text(alphabet="ab\n", max_size=60).map(str.encode)),
    max_size=12,
)


def filled(*chunks: bytes, **limits: int) -> OutputLog:
    output = OutputLog(**limits)  # type: ignore[arg-type]
    for chunk in chunks:
        output.append(chunk)
    return output


@contextmanager
def small_blocks(size: int = 16) -> Iterator[None]:
    """Everything that goes by blocks does so every few bytes."""
    with ExitStack() as stack:
        for module in (line_index, lines, log):
            stack.enter_context(mock.patch.object(module, "BLOCK", size))
        stack.enter_context(mock.patch.object(lines, "FIRST_LOOK_BACK", size))
        yield


def kept_positions(size: int, max_bytes: int) -> set[int]:
    half = max_bytes // 2
    return {*range(min(half, size)), *range(max(0, size - (max_bytes - half)), size)}


def environment() -> dict[str, str]:
    """Ours, with the same places to import from."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def run(script: str, *command: str) -> str:
    """What a script prints that runs in a process of its own."""
    done = subprocess.run(
        [*command, sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=50,
        env=environment(),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# -- positions and holes -----------------------------------------------------------------------


@given(Chunks, st.integers(0, 80), st.integers(1, 120), st.integers(0, 300), st.integers(0, 300))
def test_every_byte_is_there_or_counted(
    chunks: list[bytes], spill_at: int, max_bytes: int, start: int, length: int
):
    """In memory, on disk and around the ring a range gives the true bytes and the true holes."""
    whole = b"".join(chunks)
    with closing(filled(*chunks, spill_at=spill_at, max_bytes=max_bytes)) as output:
        kept = kept_positions(len(whole), max_bytes)
        assert output.size == len(whole)
        assert output.dropped == len(whole) - len(kept)
        at = start
        for segment in output.read(start, length):
            missing = set(range(at, at + segment.missing_before))
            assert not missing & kept
            assert segment.start == at + segment.missing_before
            assert segment.data == whole[segment.start : segment.end]
            assert set(range(segment.start, segment.end)) <= kept
            at = segment.end
        assert at == max(start, min(start + length, len(whole)))


@given(Chunks, st.integers(0, 80), st.integers(1, 120), st.integers(0, 60))
def test_collected_ranges_are_true_ends(
    chunks: list[bytes], spill_at: int, max_bytes: int, limit: int
):
    """A collected range has a true beginning and end, and counts what is between them."""
    whole = b"".join(chunks)
    start = len(whole) // 3
    with closing(filled(*chunks, spill_at=spill_at, max_bytes=max_bytes)) as output:
        found = output.collect(start, len(whole), limit)
    part = whole[start:]
    assert found.total == len(part)
    assert found.head == part[: len(found.head)]
    assert found.tail == part[len(part) - len(found.tail) :]
    if max_bytes >= len(whole):
        assert len(found.kept) == min(limit, len(part))


def test_the_tail_says_what_is_missing():
    """The last bytes reach back no farther than the hole."""
    with closing(filled(b"0123456789", b"abcdefghij", spill_at=0, max_bytes=8)) as output:
        assert output.tail(3) == Segment(start=17, data=b"hij", missing_before=0)
        assert output.tail(10) == Segment(start=16, data=b"ghij", missing_before=6)
        assert output.tail_bytes(10) == b"ghij"
        assert output.range_bytes(0, 20) == b"0123ghij"


def test_bytes_are_kept_as_they_are():
    """Bytes that are no text come back unchanged, also through the file."""
    every = bytes(range(256)) * 600
    with closing(filled(every)) as output:
        assert output.range_bytes(0, len(every)) == every


def test_after_close_everything_is_dropped():
    """A closed log still counts, reads nothing and never raises."""
    output = filled(b"x" * 100 * KIB)
    output.close()
    output.append(b"late\n")
    output.close()
    assert output.dropped == output.size == 100 * KIB + 5
    assert output.read(0, 10) == [Segment(start=10, data=b"", missing_before=10)]
    assert output.lines(1, 5).lines == ()
    assert output.grep("x").total == 0


# -- memory and disk ---------------------------------------------------------------------------


def test_quiet_sessions_are_small():
    """A log without output costs less than 500 bytes."""
    import tracemalloc

    tracemalloc.start()
    try:
        idle = [OutputLog() for _ in range(1000)]
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert used / len(idle) < 500


def test_the_file_has_no_name(tmp_path: Path):
    """What spills is on disk, but not in the directory."""
    output = OutputLog(directory=tmp_path)
    output.append(bytes(100 * KIB))
    links = [os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")
             if os.path.islink(f"/proc/self/fd/{fd}")]  # fmt: skip
    output.close()
    assert any(link.startswith(str(tmp_path)) and link.endswith("(deleted)") for link in links)
    assert list(tmp_path.iterdir()) == []


def test_the_shared_budget_makes_logs_spill_early(tmp_path: Path):
    """When the memory for all logs is used up, the next byte goes to disk, and is given back."""
    budget = MemoryBudget(100)
    first = OutputLog(directory=tmp_path, budget=budget)
    second = OutputLog(directory=tmp_path, budget=budget)
    first.append(b"a" * 80)
    second.append(b"b" * 15)
    assert budget.used == 95
    second.append(b"c" * 15)
    assert budget.used == 80
    assert second.range_bytes(0, 30) == b"b" * 15 + b"c" * 15
    first.close()
    second.close()
    assert budget.used == 0


def test_a_missing_directory_is_told_and_survived(tmp_path: Path):
    """Without a place to spill to, memory keeps the beginning, and head and tail of the rest."""
    output = OutputLog(spill_at=10, directory=tmp_path / "gone", budget=MemoryBudget(30))
    output.append(b"one\n" * 2)
    output.append(b"".join(b"line %d\n" % number for number in range(100)))
    with closing(output):
        assert output.problem is not None
        assert "No such file" in output.problem
        assert output.size == 8 + 790
        assert output.dropped == output.size - 30
        shown = output.lines(1, 1000)
        assert shown.total_lines == 102
        assert [line.number for line in shown.lines] == [1, 2, 3, 4, 101, 102]
        assert shown.lines[-1].data == b"line 99"
        assert [line.cut for line in shown.lines] == [False, False, False, True, True, False]


def test_a_full_disk_loses_no_count():
    """On a full file system the writer goes on: all counts are exact, the end is there."""
    script = """
        import subprocess, sys, tempfile, pathlib
        from fairlead.session.log import OutputLog
        where = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", where], check=True)
        output = OutputLog(directory=pathlib.Path(where))
        line = b"0123456789abcde\\n"
        for _ in range(300):
            output.append(line * 1024)
        assert output.size == 300 * 16384
        stored = output.read(0, output.size)
        assert sum(len(one.data) + one.missing_before for one in stored) == output.size
        assert output.dropped == sum(one.missing_before for one in stored) > 2 << 20
        assert all(len(set(one.data[-one.start % 16:][:1600].split())) == 1 for one in stored)
        assert output.tail(16).data == line
        assert output.count_lines() == 300 * 1024
        last = output.tail_lines(2).lines[0]
        assert (last.number, last.data) == (300 * 1024 - 1, line[:-1])
        print(output.problem)
        output.close()
        subprocess.run(["umount", where], check=True)
        pathlib.Path(where).rmdir()
    """
    command = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
    assert "No space left on device" in run(script, *command)


def test_a_file_size_limit_is_survived():
    """EFBIG half-way through a piece: what was written counts as written, the rest follows it."""
    script = """
        import resource
        from fairlead.session.log import OutputLog
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        output = OutputLog(spill_at=10)
        data = bytes(range(250)) * 4000
        output.append(data[:90_000])
        output.append(data[90_000:])
        head = output.read(0, 200_000)
        assert [one.data for one in head] == [data[:200_000]], [len(one.data) for one in head]
        assert output.dropped == 0
        print(output.problem)
        output.close()
    """
    assert "File too large" in run(script)


def test_nothing_is_left_when_we_are_killed(tmp_path: Path):
    """SIGKILL leaves no file behind."""
    script = """
        import pathlib, sys, time
        from fairlead.session.log import OutputLog
        output = OutputLog(directory=pathlib.Path(sys.argv[1]))
        output.append(bytes(1 << 20))
        print(output.problem, flush=True)
        time.sleep(60)
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment()) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "None\n"
        child.kill()
    assert child.returncode == -signal.SIGKILL
    assert list(tmp_path.iterdir()) == []


def test_a_hundred_megabytes_cost_no_memory():
    """Appending 100 MB grows the process by less than 8 MiB."""
    script = """
        import resource
        from fairlead.session.log import OutputLog
        warm = OutputLog(); warm.append(bytes(100_000)); warm.close()
        piece = b"some text and a line end\\n" * 2621
        def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        output = OutputLog()
        before = peak()
        for _ in range(100_000_000 // len(piece)):
            output.append(piece)
        print(peak() - before)
        output.close()
    """
    assert int(run(script)) < 8 * KIB  # ru_maxrss is in KiB


def test_readers_never_see_torn_or_foreign_bytes():
    """While a writer goes round the ring, every reader sees each byte at its own position."""
    output = OutputLog(spill_at=KIB, max_bytes=64 * KIB)
    pattern = b"".join(b"%07d\n" % number for number in range(250_000))  # position // 8
    wrong: list[object] = []
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            size = output.size
            for start in (0, size - 30 * KIB, size - 5 * KIB):
                for one in output.read(max(0, start), 8 * KIB):
                    if one.data != pattern[one.start : one.end]:
                        wrong.append(one)
            for line in output.tail_lines(3).lines:
                if not line.cut and line.data and line.data != b"%07d" % (line.number - 1):
                    wrong.append(line)
            wrong.extend(
                match.line
                for match in output.grep("^00[0-9]+9$", max_matches=5).matches
                if int(match.line.data) != match.line.number - 1
            )

    def check() -> None:
        try:
            look()
        except BaseException as error:
            wrong.append(error)

    readers = [threading.Thread(target=check) for _ in range(3)]
    for reader in readers:
        reader.start()
    for start in range(0, len(pattern), 1000):
        output.append(pattern[start : start + 1000])
    done.set()
    for reader in readers:
        reader.join()
    output.close()
    assert wrong == []


# -- lines -------------------------------------------------------------------------------------


def naive_lines(whole: bytes) -> list[Line]:
    found, start = [], 0
    for number, data in enumerate(whole.split(b"\n"), 1):
        end = start + len(data)
        if end < len(whole) or data:
            found.append(Line(number=number, start=start, end=end, data=data))
        start = end + 1
    return found


@given(Chunks, st.integers(0, 80), st.integers(1, 40), st.integers(0, 10), st.integers(4, 40))
def test_pages_are_those_of_the_whole(
    chunks: list[bytes], spill_at: int, first: int, count: int, block: int
):
    """Any page by number, and any number of last lines, equals splitting the whole output."""
    expected = naive_lines(b"".join(chunks))
    with small_blocks(block), closing(filled(*chunks, spill_at=spill_at)) as output:
        assert list(output.lines(first, count).lines) == expected[first - 1 :][:count]
        last = expected[-count:] if count else []
        assert list(output.tail_lines(count).lines) == last
        assert output.count_lines() == len(expected)


@given(Chunks, st.integers(1, 120), st.integers(1, 30), st.integers(4, 40))
@settings(max_examples=200)
def test_line_numbers_hold_across_a_hole(
    chunks: list[bytes], max_bytes: int, first: int, block: int
):
    """Lines after dropped bytes keep the numbers they would have had; cut ones say so."""
    whole = b"".join(chunks)
    expected = {line.number: line for line in naive_lines(whole)}
    kept = kept_positions(len(whole), max_bytes)
    with small_blocks(block), closing(filled(*chunks, spill_at=5, max_bytes=max_bytes)) as output:
        found = [*output.lines(first, 1000).lines]
        last = output.tail_lines(3).lines
        assert output.count_lines() == len(expected)
    for line in [*found, *last]:
        if not line.cut:
            assert line == expected[line.number]
    whole_ones = {
        line.number
        for line in expected.values()
        if line.number >= first
        and {*range(line.start - 1, line.end + 1)} <= kept | {-1, len(whole)}
    }
    assert whole_ones <= {line.number for line in found if not line.cut}


@given(Chunks, st.integers(0, 60), st.integers(0, 60), st.integers(4, 40))
@example([b"\0\0", b"\0"], 2, 0, 4)  # the end is what is gone
@example([b"aa", b"a"], 2, 0, 4)
def test_line_numbers_hold_after_a_failed_disk(
    chunks: list[bytes], memory: int, room: int, block: int
):
    """Where the disk failed and the middle is gone, the lines that are whole have true numbers."""
    whole = b"".join(chunks)
    expected = {line.number: line for line in naive_lines(whole)}
    output = OutputLog(
        spill_at=memory, directory=Path("/nonexistent"), budget=MemoryBudget(memory + room)
    )
    with small_blocks(block), closing(output):
        for chunk in chunks:
            output.append(chunk)
        found = output.lines(1, 1000).lines
        matches = output.grep("a", max_matches=1000).matches
        assert output.dropped == len(whole) - len(output.range_bytes(0, len(whole)))
    for line in [*found, *(match.line for match in matches)]:
        if not line.cut and line.end < len(whole):
            assert line == expected[line.number]


def test_long_lines_are_cut_and_say_so():
    """A line longer than the limit gives its beginning and its true end."""
    with closing(filled(b"x" * 1000 + b"\nnext\n")) as output:
        assert output.lines(1, 2, max_line=10).lines == (
            Line(number=1, start=0, end=1000, data=b"x" * 10, cut=True),
            Line(number=2, start=1001, end=1005, data=b"next"),
        )


def test_pages_are_bounded_in_bytes():
    """A page ends before it would exceed its bytes, but never before its first line."""
    with closing(filled(b"0123456789\n" * 10)) as output:
        assert len(output.lines(1, 10, max_bytes=25).lines) == 2
        assert len(output.lines(1, 10, max_bytes=5).lines) == 1
        assert len(output.tail_lines(10, max_bytes=22).lines) == 2


def test_paging_through_a_large_log_is_linear():
    """Every page of a log is as quick as the first, once somebody has been there."""
    line = b"x" * 63 + b"\n"
    with closing(filled(line * (1 << 20))) as output:  # 64 MiB
        assert output.lines(1, 10).total_lines is None
        assert output.count_lines() == 1 << 20
        began = time.process_time()
        for first in range(1, 1 << 20, 1 << 12):
            assert output.lines(first, 2).lines[1].number == first + 1
        assert time.process_time() - began < 256 * 0.02


# -- search ------------------------------------------------------------------------------------

PATTERNS = ["a", "^a", "b$", "a.b", "[^a]b", "^$", "(a|b)+", "", r"\bab\b", "a*$"]


@given(
    st.lists(st.text(alphabet="ab\n \r", max_size=50).map(str.encode), max_size=8),
    st.sampled_from(PATTERNS),
    st.integers(0, 3),
    st.integers(4, 40),
)
@settings(max_examples=300)
def test_search_equals_looking_at_each_line(
    chunks: list[bytes], pattern: str, context: int, block: int
):
    """Block-wise search finds what a search of every single line does, with its context."""
    whole = b"".join(chunks)
    every = naive_lines(whole)
    wanted = re.compile(pattern.encode())
    # A carriage return before the newline belongs to the line end, as terminals write it.
    line_end = rb"\r\Z" if "$" in pattern else rb"\Z"
    expected = [one for one in every if wanted.search(re.sub(line_end, b"", one.data))]
    with small_blocks(block), closing(filled(*chunks, spill_at=20)) as output:
        found = output.grep(pattern, before=context, after=context)
        assert output.grep(pattern, max_matches=1).total == len(expected)
        assert output.grep(pattern, max_matches=0).total == len(expected)
    assert [match.line for match in found.matches] == expected[:100]
    assert found.total == len(expected)
    for match in found.matches:
        at = match.line.number - 1
        assert list(match.before) == every[max(0, at - context) : at]
        assert list(match.after) == every[at + 1 : at + 1 + context]
        assert match.line.start <= match.at <= match.line.end


def test_search_tells_where_and_how_many():
    """A match has its line number and its position; those not shown are counted."""
    with closing(filled(b"one\ntwo ERROR\nthree\nfour error\nerror\n")) as output:
        found = output.grep("error", ignore_case=True, max_matches=2)
        assert [(match.line.number, match.at) for match in found.matches] == [(2, 8), (4, 25)]
        assert found.total == 3
        assert output.grep("a.c", literal=True).total == 0
        assert output.grep("TWO err", literal=True, ignore_case=True).total == 1


def test_dollar_matches_before_a_terminals_line_end():
    """`$` stands before CR LF too, except inside brackets or quoted."""
    with closing(filled(b"cost 5$\r\nfive\r\nfine\n")) as output:
        assert [one.line.number for one in output.grep("[$]$").matches] == [1]
        assert [one.line.number for one in output.grep(r"\$").matches] == [1]
        assert [one.line.number for one in output.grep("e$").matches] == [2, 3]
        assert [one.line.number for one in output.grep("[^x]e$").matches] == [2, 3]
        assert output.grep("^[^e]*$").total == 1


def test_search_is_of_text_with_any_bytes():
    """Bytes that are no UTF-8 do not hide what stands beside them."""
    data = "\udcff Straße ÄPFEL \udc80\n".encode("utf-8", "surrogateescape")
    with closing(filled(data)) as output:
        assert output.grep("stra.e äpfel", ignore_case=True).matches[0].line.data == data[:-1]


def test_hostile_patterns_take_linear_time():
    """Nested repetition, fatal to a backtracking search, is answered at once."""
    with closing(filled(b"a" * 5000 + b"!\n" + b"x" * 5000)) as output:
        began = time.process_time()
        assert output.grep("(a*)*(a|aa)+$").total == 0
        assert time.process_time() - began < 1


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(a", "missing"),
        ("a{5000}", "repetition"),
        (r"(a)\1", "escape"),
        ("a\nb", "line break"),
        (r"\Aab", "[$]"),
        ("[z-a]", "range"),
    ],
)
def test_bad_patterns_are_refused_with_a_reason(pattern: str, why: str):
    """A pattern that can't be used is a BadRequest that says why."""
    with closing(filled(b"text\n")) as output, pytest.raises(BadRequest, match=why):
        output.grep(pattern)


def test_very_long_lines_are_searched_in_parts():
    """A needle anywhere in an endless line is found once, with its neighbourhood, not the line."""
    long = b"-" * 1_500_000 + b"needle" + b"-" * 3_000_000 + b"needle" + b"-" * 10
    with closing(filled(b"first\n", long, b"\nneedle\nlast\n")) as output:
        found = output.grep("needle", before=1, after=1)
    assert found.total == 2
    line, after = found.matches[0].line, found.matches[0].after
    assert (line.number, line.cut, found.matches[0].at) == (2, True, 1_500_006)
    assert len(line.data) == grep.MAX_LINE
    assert b"needle" in line.data
    assert found.matches[0].before[0].data == b"first"
    assert [one.data for one in after] == [b"needle"]
    assert found.matches[1].line.number == 3


def test_a_needle_across_parts_is_found():
    """A match that lies across two parts of a very long line is not missed."""
    for shift in range(12):
        with closing(filled(b"-" * (grep.LONG_LINE - shift) + b"needle" + b"-" * KIB)) as output:
            assert output.grep("needle", literal=True).total == 1


def test_the_answer_is_bounded_in_bytes():
    """Matches are shown as far as the bytes reach, and all are counted."""
    with closing(filled((b"x" * 99 + b"\n") * 1000)) as output:
        found = output.grep("x", max_matches=1000, max_bytes=1000)
    assert len(found.matches) == 11
    assert len(found.matches[-1].line.data) <= 99
    assert found.total == 1000

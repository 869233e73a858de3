"""`read_output`, run: every way of reading, over a log that no answer could hold."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead import Engine
from fairlead.session import grep
from fairlead.tools.model import ToolOutput

LINES = 3_750_000
WIDTH = 8  # bytes of a line: seven digits and a newline; 30 MB in all


@pytest.fixture
async def big(engine: Engine) -> tuple[Engine, str]:
    """An engine, and the chunk id of a call of `shell` that wrote 30 MB."""
    answer = await engine.call("shell", {"command": ["seq", "-w", str(LINES)]})
    return engine, answer.structured["chunk_id"]


async def read(big: tuple[Engine, str], **how: Any) -> ToolOutput:
    engine, chunk_id = big
    return await engine.call("read_output", {"chunk_id": chunk_id, **how})


async def test_the_whole_shows_its_two_ends(big: tuple[Engine, str]) -> None:
    """Without a choice: from line 1, with the size of all and of what is not shown."""
    answer = await read(big, max_output_tokens=100)
    facts = answer.structured
    assert facts["total_bytes"] == LINES * WIDTH
    assert facts["total_lines"] == LINES
    assert facts["original_token_count"] == LINES * WIDTH // 4
    assert "\n0000001\n" in answer.content
    assert answer.content.endswith(f"\n{LINES:07}\n")
    assert f"Total bytes: {LINES * WIDTH}\nTotal lines: {LINES}\nOutput:\n" in answer.content


async def test_counting_has_an_end(
    big: tuple[Engine, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pattern that matches nearly everywhere is not counted for minutes, and that is told."""
    monkeypatch.setattr(grep, "MOST_COUNTED", 1000)
    answer = await read(big, grep="[0-9]", max_output_tokens=20)
    assert 1000 <= answer.structured["matches"] < LINES
    assert answer.structured["more_matches"] is True
    assert f"Matching lines: {answer.structured['matches']} or more\n" in answer.content
    few = await read(big, grep="^000000[1-5]$")
    assert (few.structured["matches"], "more_matches" in few.structured) == (5, False)


async def test_a_page_of_lines(big: tuple[Engine, str]) -> None:
    """Lines count from 1; which ones these are is told."""
    answer = await read(big, offset_line=1_500_000, limit_lines=3)
    assert answer.structured["output"] == "1500000\n1500001\n1500002\n"
    assert answer.structured["first_line"] == 1_500_000
    assert answer.structured["last_line"] == 1_500_002
    assert "\nLines: 1500000..1500002\nOutput:\n" in answer.content


async def test_a_page_that_does_not_fit(big: tuple[Engine, str]) -> None:
    """It ends early, and the last line's number is where to go on."""
    answer = await read(big, offset_line=2, max_output_tokens=10)
    assert answer.structured["output"].splitlines()[0] == "0000002"
    assert answer.structured["last_line"] == 1 + len(answer.structured["output"].splitlines())
    assert "truncated" not in answer.content


async def test_a_page_behind_the_end(big: tuple[Engine, str]) -> None:
    """There is nothing, and no error."""
    answer = await read(big, offset_line=LINES + 1)
    assert answer.structured["output"] == ""
    assert "first_line" not in answer.structured


async def test_the_last_lines(big: tuple[Engine, str]) -> None:
    """The tail, with its numbers."""
    answer = await read(big, tail_lines=2)
    assert answer.structured["output"] == f"{LINES - 1:07}\n{LINES:07}\n"
    assert answer.structured["first_line"] == LINES - 1


async def test_matching_lines_with_context(big: tuple[Engine, str]) -> None:
    """As `grep -n -C1`: a colon for a match, a dash for a line around it; all are counted."""
    answer = await read(big, grep="^277777[79]$", context=1)
    assert answer.structured["output"] == (
        "2777776-2777776\n2777777:2777777\n2777778-2777778\n2777779:2777779\n2777780-2777780\n"
    )
    assert answer.structured["matches"] == 2
    many = await read(big, grep="55$", max_output_tokens=20)
    assert many.structured["matches"] == LINES // 100
    assert f"\nMatching lines: {LINES // 100}\n" in many.content


async def test_literal_and_case(big: tuple[Engine, str]) -> None:
    """A dot is a dot when it is meant word for word."""
    assert (await read(big, grep="0.1", literal=True)).structured["matches"] == 0
    assert (await read(big, grep="000001.", ignore_case=True)).structured["matches"] == 10


async def test_bytes(big: tuple[Engine, str]) -> None:
    """Any range; beyond the end there is nothing."""
    answer = await read(big, offset_bytes=12_000_000, limit_bytes=8)
    assert answer.structured["output"] == "1500001\n"
    assert (await read(big, offset_bytes=LINES * WIDTH)).structured["output"] == ""


async def test_reading_takes_nothing_from_the_session(engine: Engine) -> None:
    """What was read here is still new for the session's next answer."""
    args = {"cmd": ["sh", "-c", "echo up; cat"], "stdin": "open", "yield_time_ms": 0}
    started = await engine.call("exec_command", args)
    number = started.structured["session_id"]
    engine.session(number).write(b"fresh\n")
    await engine.call("wait_for", {"session_id": number, "pattern": "up", "timeout_ms": 0})
    while b"fresh" not in engine.session(number).log.tail_bytes(100):
        await engine.session(number).change(engine.session(number).log.size)
    before = engine.session(number).cursor
    assert "fresh" in (await engine.call("read_output", {"session_id": number})).content
    assert engine.session(number).cursor == before


async def test_a_chunk_is_only_that_answer(engine: Engine) -> None:
    """A chunk id names what one answer had new, with line numbers of its own."""
    args = {"cmd": ["sh", "-c", "echo one; cat"], "stdin": "open"}
    started = await engine.call("exec_command", args)
    number = started.structured["session_id"]
    given = {"session_id": number, "chars": "two\nthree\n", "eof": True, "yield_time_ms": 30_000}
    second = await engine.call("write_stdin", given)
    chunk = second.structured["chunk_id"]
    page = await engine.call("read_output", {"chunk_id": chunk, "offset_line": 2, "limit_lines": 9})
    assert page.structured["output"] == "three\n"
    assert (page.structured["first_line"], page.structured["total_bytes"]) == (2, 10)
    assert page.structured["session_id"] == number
    unknown = await engine.call("read_output", {"chunk_id": "000000"})
    assert unknown.content.startswith("unknown chunk_id 000000")


async def test_rendered_and_not_utf8(engine: Engine) -> None:
    """Progress bars collapse where that is asked for; bytes that are no characters are counted."""
    script = r"printf 'a\377\n 1 %%\r 2 %%\r 3 %%\n'"
    answer = await engine.call("shell", {"command": ["bash", "-c", script]})
    chunk = answer.structured["chunk_id"]
    for how in ({}, {"tail_lines": 9}, {"offset_bytes": 0}):
        shown = await engine.call("read_output", {"chunk_id": chunk, "rendered": True, **how})
        assert shown.structured["output"] == "a\ufffd\n 3 %\n"
        assert shown.structured["replaced_bytes"] == 1
    raw = await engine.call("read_output", {"chunk_id": chunk})
    assert raw.structured["output"] == "a\ufffd\n 1 %\r 2 %\r 3 %\n"
    assert raw.structured["replaced_bytes"] == 1


async def test_a_line_that_is_too_long_says_so(engine: Engine) -> None:
    """Its beginning is there, and how much of it is not."""
    script = "head -c 100000 /dev/zero | tr '\\0' x; echo; echo end"
    answer = await engine.call("shell", {"command": ["sh", "-c", script]})
    how = {"chunk_id": answer.structured["chunk_id"], "offset_line": 1, "limit_lines": 2}
    shown = (await engine.call("read_output", {**how, "max_output_tokens": 1000})).structured
    first = shown["output"].splitlines()
    assert shown["last_line"] == 1
    assert "bytes cut…" in first[-1]

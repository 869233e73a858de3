"""What the documents show is what happens.

- ```console blocks: each `$ command` is run and must print what follows, see `console.py`.
- ```python blocks are run as programs; a ```output block right after one is what it prints.
- a block right below `<!-- no-test -->` only shows something.
- links lead to files and headings that exist, and so do the files that the tour names.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

import pytest

from fairlead.tools.catalogue import specs
from tests.console import check, matches, run, steps_in

ROOT = Path(__file__).parents[1]
DOCS = sorted((*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")))

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
NAMED_FILE = re.compile(r"`((?:src|native|tests|scripts|benchmarks|docs)/[\w./-]+)`")
NO_TEST = "<!-- no-test -->"


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block of a document."""

    doc: Path
    line: int
    language: str
    text: str
    tested: bool

    def __str__(self) -> str:
        return f"{self.doc.relative_to(ROOT)}:{self.line}"


def blocks_of(doc: Path) -> Iterator[Block]:
    text = doc.read_text()
    for found in FENCE.finditer(text):
        before = text[: found.start()]
        yield Block(
            doc=doc,
            line=before.count("\n") + 1,
            language=found[1],
            text=found[2],
            tested=not before.rstrip().endswith(NO_TEST),
        )


BLOCKS = [block for doc in DOCS for block in blocks_of(doc)]


def blocks_in(language: str) -> list[Block]:
    return [block for block in BLOCKS if block.language == language and block.tested]


@pytest.mark.parametrize("block", blocks_in("console"), ids=str)
def test_a_console_block_prints_what_it_shows(block: Block, tmp_path: Path) -> None:
    """Each command in the documents prints what stands below it."""
    steps = steps_in(block.text)
    assert steps, "a console block without a `$ command`"
    check(steps, tmp_path)


def python_blocks() -> list[tuple[Block, Block | None]]:
    pairs = zip_longest(BLOCKS, BLOCKS[1:])
    return [
        (block, after if after and after.language == "output" else None)
        for block, after in pairs
        if block and block.language == "python" and block.tested
    ]


@pytest.mark.parametrize(("block", "output"), python_blocks(), ids=str)
def test_a_python_block_runs(block: Block, output: Block | None, tmp_path: Path) -> None:
    """Each Python example in the documents runs, and prints what stands below it."""
    printed = run([sys.executable, "-c", block.text], tmp_path)
    assert "[exit " not in printed, printed
    if output is not None:
        assert matches(output.text, printed), printed


def anchors(doc: Path) -> set[str]:
    """Headings as a browser addresses them."""
    headings = re.findall(r"^#+ (.*)$", doc.read_text(), flags=re.M)
    return {
        re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in headings
    }


@pytest.mark.parametrize("doc", DOCS, ids=lambda doc: str(doc.relative_to(ROOT)))
def test_links_lead_somewhere(doc: Path) -> None:
    """Every relative link names a file and a heading that exist."""
    broken = []
    for link in LINK.findall(FENCE.sub("", doc.read_text())):
        if "://" in link or link.startswith("mailto:"):
            continue
        path, _, anchor = link.partition("#")
        target = (doc.parent / path) if path else doc
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("doc", DOCS, ids=lambda doc: str(doc.relative_to(ROOT)))
def test_named_files_exist(doc: Path) -> None:
    """A document that names one of our files by its path names one that is there."""
    named = NAMED_FILE.findall(doc.read_text())
    assert [name for name in named if not (ROOT / name).exists()] == []


@pytest.mark.parametrize(
    ("expected", "printed", "same"),
    [
        ("a", "a\n", True),
        ("a", "b\n", False),
        ("took … seconds", "took 0.1 seconds\n", True),
        ("took … seconds", "took\n0.1 seconds\n", False),
        ("a\n…\nc", "a\nb\nb\nc\n", True),
        ("a\n…\nc", "a\nc\n", True),
        ("a\n…", "b\n", False),
        ("", "", True),
        ("", "noise\n", False),
    ],
)
def test_wildcards(expected: str, printed: str, same: bool) -> None:
    """`…` stands for text within a line, or alone for lines, and for nothing else."""
    assert matches(expected, printed) is same


def tool_sections() -> dict[str, str]:
    """The sections of the protocol that describe a tool, by its name."""
    text = (ROOT / "docs" / "protocol.md").read_text()
    parts = re.split(r"^##+ (.*)\n", text, flags=re.M)[1:]
    headings, bodies = parts[::2], parts[1::2]
    return {h.strip("`"): b for h, b in zip(headings, bodies, strict=True) if h.startswith("`")}


def test_the_protocol_names_every_tool_and_argument() -> None:
    """A tool has its section in the protocol, and the section names each argument it takes."""
    sections = tool_sections()
    assert sections.keys() == {spec.name for spec in specs()}
    missing = [
        f"{spec.name}.{name}"
        for spec in specs()
        for name in spec.input_schema["properties"]
        if f"`{name}`" not in sections[spec.name]
    ]
    assert missing == []

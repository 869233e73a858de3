"""An engine for the tests that run tools."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fairlead import Engine
from fairlead.config.options import Options


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Engine]:
    """An engine in a directory of its own."""
    async with Engine(Options(cwd=tmp_path)) as opened:
        yield opened

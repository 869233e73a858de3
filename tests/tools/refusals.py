"""How a refused call reads."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fairlead.model.errors import BadRequest


def refusal(parse: Callable[[object], object], untrusted: object) -> str:
    with pytest.raises(BadRequest) as caught:
        parse(untrusted)
    return str(caught.value)

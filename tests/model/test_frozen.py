"""Values that are made quickly behave as frozen dataclasses do."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys

import pytest

from fairlead.model.frozen import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class Point:
    """A value by position."""

    x: int
    y: int = 0
    more: list[int] = field(default_factory=list)

    @property
    def total(self) -> int:
        return self.x + self.y


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A value by name, whose required field may come last."""

    name: str = "none"
    at: Point

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("a name")


@dataclass(frozen=True, slots=True)
class Point3(Point):
    """A value with the fields of another before its own."""

    z: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Standard:
    """What to compare with."""

    x: int
    y: int = 0


def test_values_are_compared_and_hashed_by_their_fields() -> None:
    """Equal fields make equal values, of the same class only."""
    assert Point(1, 2) == Point(x=1, y=2)
    assert Point(1, 2) != Point(1, 3)
    assert Point(1) != Standard(1)  # type: ignore[comparison-overlap]
    assert Point3(1) != Point(1)
    plain = Named(at=Point(1))
    assert plain == Named(name="none", at=Point(1))
    assert len({Standard(1), Standard(1)}) == len({Size(1), Size(1)}) == 1


@dataclass(frozen=True, slots=True)
class Size:
    """A value that can be hashed."""

    rows: int


def test_values_can_be_matched() -> None:
    """Positional patterns follow the order of the fields."""
    match Point3(1, 2, [], 3):
        case Point3(x, y, _, z):
            assert (x, y, z) == (1, 2, 3)
        case _:
            pytest.fail("no match")


def test_defaults_are_made_for_each() -> None:
    """A factory's default is not shared."""
    assert Point(1).more is not Point(1).more
    assert Point(1).more == []


@pytest.mark.parametrize(
    "wrong", ["Point()", "Point(1, 2, [], 4)", "Point(1, x=1)", "Point(1, w=1)", "Named(Point(1))"]
)
def test_wrong_arguments_are_refused(wrong: str) -> None:
    """Missing, surplus, doubled and unknown fields are a TypeError, as with any call."""
    with pytest.raises(TypeError, match=wrong.partition("(")[0]):
        eval(wrong, globals())


def test_values_can_not_be_changed() -> None:
    """Neither set nor deleted, nor given more attributes."""
    point = Point(1)
    with pytest.raises(AttributeError, match="frozen"):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(AttributeError, match="frozen"):
        del point.x
    with pytest.raises(AttributeError):
        point.other = 1  # type: ignore[attr-defined]
    assert not hasattr(point, "__dict__")


def test_a_check_after_the_fields_is_made() -> None:
    """`__post_init__` sees the finished value and may refuse it."""
    with pytest.raises(ValueError, match="a name"):
        Named(name="", at=Point(1))


@pytest.mark.parametrize("change", [replace, dataclasses.replace])
def test_a_changed_copy(change: object) -> None:
    """Both `replace` functions make a new value and leave the old."""
    before = Named(name="a", at=Point(1))
    after = change(before, name="b")  # type: ignore[operator]
    assert (before.name, after) == ("a", Named(name="b", at=Point(1)))


def test_the_standard_functions_know_them() -> None:
    """`fields` and `asdict` of the standard library work, also through nested values."""
    assert [one.name for one in dataclasses.fields(Point3)] == ["x", "y", "more", "z"]
    assert dataclasses.is_dataclass(Named)
    nested = Named(at=Point(1))
    assert dataclasses.asdict(nested) == {"name": "none", "at": {"x": 1, "y": 0, "more": []}}


def test_they_look_like_dataclasses() -> None:
    """They are shown, copied and pickled as one expects."""
    assert repr(Point(1)) == "Point(x=1, y=0, more=[])"
    assert copy.deepcopy(Point(1)) == copy.copy(Point(1)) == Point(1)
    assert pickle.loads(pickle.dumps(Size(3))) == Size(3)
    assert Point.__doc__ == "A value by position."
    assert Point(1, 2).total == 3


def test_only_values_are_made() -> None:
    """A class that would not be frozen is the standard library's business."""
    with pytest.raises(TypeError, match="dataclasses"):
        dataclass(frozen=False, slots=True)


def test_nothing_heavy_is_loaded() -> None:
    """Making such classes loads neither `dataclasses` nor `inspect` nor `typing`."""
    script = (
        "import sys, fairlead.model.params, fairlead.model.env\n"
        "print(sys.modules.keys() & {'dataclasses', 'inspect', 'typing'})"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert done.stdout.strip() == b"set()"

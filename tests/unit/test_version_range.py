"""Ranges of versions, as packages write what they run on."""

import pytest

from gshtui.programs.profiles.program_versions import is_in_range


@pytest.mark.parametrize(
    ("wanted", "inside", "outside"),
    [
        (">=22.19.0", "22.19.0 22.20.1 24.0.0", "20.20.2 22.18.9 22.19.0-rc.1"),
        (">= 20", "20.0.0 24.1.0", "18.20.0"),
        ("^20.17.0 || >=22.9.0", "20.17.0 20.20.2 22.9.0 24.0.0", "20.16.9 21.0.0 22.8.0"),
        ("^0.2.3", "0.2.3 0.2.9", "0.3.0 0.2.2"),
        ("~1.2", "1.2.0 1.2.9", "1.3.0"),
        ("18.x", "18.0.0 18.9.1", "17.9.0 19.0.0"),
        ("18 - 20", "18.0.0 20.20.2", "17.0.0 21.0.0"),
        (">=18 <23", "18.0.0 22.9.9", "16.0.0 23.0.0"),
        ("<3.13,>=3.10", "3.10 3.10.4 3.12.9", "3.13.0 3.9.20"),
        ("~=3.8, !=3.9.*", "3.8.0 3.10.1", "3.9.0 3.9.5 4.0 3.7.9"),
        ("!=3.9", "3.9.5 3.8", "3.9.0"),
        ("==3.*", "3.0 3.14.1", "2.7.18 4.0.0"),
        (">=16.0.0-rc.1", "16.0.0 16.0.0-rc.2", "15.9.0"),
    ],
)
def test_a_version_is_inside_or_outside(wanted: str, inside: str, outside: str) -> None:
    assert [version for version in inside.split() if not is_in_range(version, wanted)] == []
    assert [version for version in outside.split() if is_in_range(version, wanted)] == []


@pytest.mark.parametrize("wanted", ["", "*", "x", "lts/*", "latest", "workspace:^", ">", "1" * 300, "|| ||"])
def test_what_cannot_be_read_refuses_nothing(wanted: str) -> None:
    assert is_in_range("20.20.2", wanted)
    assert is_in_range("nightly", ">=22")

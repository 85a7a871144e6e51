"""Who may enter over SSH: what a line of the list lets in, and that a wrong one lets nobody in."""

from __future__ import annotations

from pathlib import Path

import asyncssh
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gshtui.guard.people import PeopleError, new_person, person_of, read_people, write_people


def public_key(kind: str = "ssh-ed25519") -> str:
    return asyncssh.generate_private_key(kind).export_public_key("openssh").decode().strip()


def test_a_list_is_read_as_it_was_written(tmp_path: Path) -> None:
    amy = new_person(public_key(), "amy", "talk")
    bo = new_person(public_key("ecdsa-sha2-nistp256"), "bo", "all", [amy])
    write_people(tmp_path / "people", [amy, bo])
    read = read_people(tmp_path / "people")
    assert read.people == (amy, bo) and read.mistakes == ()
    assert (tmp_path / "people").stat().st_mode & 0o777 == 0o600
    assert read.find(bo.key_type, bo.key) == bo and read.find("ssh-rsa", bo.key) is None
    assert read_people(tmp_path / "none").people == ()


def test_the_fingerprint_is_openssh_s() -> None:
    key = asyncssh.generate_private_key("ssh-ed25519")
    person = new_person(key.export_public_key("openssh").decode(), "amy", "talk")
    assert person.fingerprint == key.get_fingerprint()


@pytest.mark.parametrize(
    "name", ["", "person", "gsh", "all", "main", "Amy", "a b", "../x", "12", "ämy", "x" * 40, "a\n"]
)
def test_names_that_are_somebody_else_s(name: str) -> None:
    with pytest.raises(PeopleError, match="name"):
        new_person(public_key(), name, "talk")


@pytest.mark.parametrize(
    "name", ["claude", "c1aude", "ciaude", "cl-aude", "claud-e", "amya", "b0b", "rnax", "a11", "maln"]
)
def test_a_name_that_could_be_taken_for_another_is_nobody_s(name: str) -> None:
    others = [new_person(public_key(), "bob", "talk")]
    with pytest.raises(PeopleError, match="somebody else is called"):
        new_person(public_key(), name, "talk", others, ["claude", "Amy-A", "max"])
    assert new_person(public_key(), "claudia", "talk", others, ["claude"]).name == "claudia"


def test_keys_that_are_none() -> None:
    whole = public_key().split()
    for bad in (
        "",
        "AAAA",
        "ssh-ed25519",
        "ssh-ed25519 !!!!",
        f"ssh-rsa {whole[1]}",
        f"ssh-ed25519 {whole[1][:16]}",
        "ssh-dss AAAA",
    ):
        with pytest.raises(PeopleError):
            new_person(bad, "amy", "talk")
    amy = new_person(" ".join(whole), "amy", "talk")
    with pytest.raises(PeopleError, match="amy's"):
        new_person(" ".join(whole), "bo", "talk", [amy])
    with pytest.raises(PeopleError, match="somebody else"):
        new_person(public_key(), "claude", "talk", taken={"claude"})


def test_a_wrong_line_lets_nobody_in_and_is_named(tmp_path: Path) -> None:
    path = tmp_path / "people"
    good = public_key()
    path.write_text(f"# friends\n\nrights=root {good} eve\n{good} amy\n{good} bo\nrubbish\n")
    path.chmod(0o600)
    read = read_people(path)
    assert [one.name for one in read.people] == ["amy"]
    assert [mistake.split(":")[0].rpartition(" ")[2] for mistake in read.mistakes] == ["3", "5", "6"]


def test_a_list_that_others_can_write_lets_nobody_in(tmp_path: Path) -> None:
    path = tmp_path / "people"
    write_people(path, [new_person(public_key(), "amy", "all")])
    path.chmod(0o666)
    read = read_people(path)
    assert read.people == () and "written by others" in read.mistakes[0]


@given(st.text(max_size=300))
def test_any_line_lets_in_only_who_has_a_key(line: str) -> None:
    try:
        person = person_of(line)
    except PeopleError:
        return
    assert person.key in line and person.name in line

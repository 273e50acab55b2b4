from pathlib import Path

import pytest

from broker_project.lib.secret_files import MOST_BYTES, SecretFileError, given, is_given


def test_a_secret_is_what_its_variable_says() -> None:
    assert given("PASSWORD", {"PASSWORD": "open"}, "default") == "open"


def test_without_either_it_is_the_default() -> None:
    assert given("PASSWORD", {}, "default") == "default"
    assert not is_given("PASSWORD", {"PASSWORD": "", "PASSWORD_FILE": ""})


def test_a_file_wins_and_its_last_line_end_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("from a file\n")
    told = {"PASSWORD": "open", "PASSWORD_FILE": str(tmp_path / "password")}
    assert given("PASSWORD", told) == "from a file"
    assert is_given("PASSWORD", told)


def test_a_file_that_cannot_be_read_is_named_with_the_reason(tmp_path: Path) -> None:
    for path, reason in ((tmp_path / "none", "No such file or directory"), (tmp_path, "Is a directory")):
        with pytest.raises(SecretFileError) as refused:
            given("PASSWORD", {"PASSWORD_FILE": str(path)})
        assert str(refused.value) == f"PASSWORD_FILE: {path} cannot be read: {reason}."


@pytest.mark.parametrize("held", [b"", b" \n", b"hidden \xff\xfe", b"hidden" * MOST_BYTES])
def test_a_file_that_holds_no_secret_is_refused_without_a_word_of_it(tmp_path: Path, held: bytes) -> None:
    (tmp_path / "password").write_bytes(held)
    with pytest.raises(SecretFileError) as refused:
        given("PASSWORD", {"PASSWORD_FILE": str(tmp_path / "password")})
    assert "empty, too large or not text" in str(refused.value)
    assert "hidden" not in repr(refused.value)
    assert refused.value.__cause__ is None

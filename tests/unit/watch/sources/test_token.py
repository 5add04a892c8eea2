"""Where the token comes from, and that it goes nowhere else."""

import pytest

from genesisd.watch.sources.token import Token
from genesisd.watch.spec import TokenSpec

API = "https://api.github.com"
SECRET = "ghp_0123456789abcdef"


def token(path=None, *, api=API, environ=None, **spec) -> Token:
    declared = TokenSpec(file=path, **spec)
    return Token(declared, api, environ or {})


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "token"
    path.write_text(SECRET + "\n")
    path.chmod(0o600)
    return path


def test_none_is_declared():
    """Without a declaration there is no token, and nothing is wrong."""
    assert (token().value(), token().problem) == (None, "")


def test_a_file(file):
    """One line of a file."""
    one = token(file)
    assert one.value() == SECRET
    assert one.problem == ""


def test_it_is_read_again_when_it_changes(file):
    """A new token in the file is used at once, and a file that goes takes the token with it."""
    one = token(file)
    assert one.value() == SECRET
    file.write_text("ghp_another_one\n")
    assert one.value() == "ghp_another_one"
    file.unlink()
    assert one.value() is None
    assert "cannot be read: No such file" in one.problem
    file.write_text(SECRET)
    file.chmod(0o600)
    assert one.value() == SECRET
    assert one.problem == ""


def test_a_credential(tmp_path):
    """Systemd passes it as a file in a folder of its own."""
    (tmp_path / "github").write_text(SECRET)
    (tmp_path / "github").chmod(0o440)  # as it looks with an access list for the user of the service
    one = token(credential="github", environ={"CREDENTIALS_DIRECTORY": str(tmp_path)})
    assert one.value() == SECRET
    assert one.problem == ""


def test_a_credential_that_was_not_passed():
    """What is missing in the unit is said."""
    one = token(credential="github")
    assert one.value() is None
    assert "LoadCredential=github" in one.problem


@pytest.mark.parametrize("name", ["../etc/passwd", "a/b", "..", "."])
def test_a_credential_is_a_name(tmp_path, name):
    """It cannot lead out of the folder."""
    one = token(credential=name, environ={"CREDENTIALS_DIRECTORY": str(tmp_path)})
    assert one.value() is None
    assert one.problem


@pytest.mark.parametrize("content", [b"", b"\n", b"two words", b"two\nlines", b"short", b"\xff\xfe" * 9, b"a" * 600])
def test_what_is_no_token(tmp_path, content):
    """A file that holds something else is told, without what it holds."""
    path = tmp_path / "token"
    path.write_bytes(content)
    one = token(path)
    assert one.value() is None
    assert str(path) in one.problem
    assert "lines" not in one.problem
    assert "words" not in one.problem


def test_a_file_that_others_can_read_is_used_and_told(file):
    """It works, and people hear how to mend it."""
    file.chmod(0o644)
    one = token(file)
    assert one.value() == SECRET
    assert f"chmod 600 {file}" in one.problem


@pytest.mark.parametrize(
    ("api", "sent"),
    [
        ("https://github.example.com/api/v3", True),
        ("http://github.example.com/api/v3", False),
        ("http://127.0.0.1:8080", True),
        ("http://localhost:8080", True),
        ("http://[::1]:8080", True),
        ("http://127.0.0.1.example.com", False),
    ],
)
def test_it_is_not_sent_in_the_clear(file, api, sent):
    """Over a network it goes by TLS or not at all."""
    one = token(file, api=api)
    assert (one.value() is not None) is sent
    assert bool(one.problem) is not sent


def test_it_is_not_shown(file):
    """Neither its representation nor its problem holds the value."""
    one = token(file)
    one.value()
    assert SECRET not in repr(one) + str(one) + one.problem

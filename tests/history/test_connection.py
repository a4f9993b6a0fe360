"""Places of stores: paths and URLs, and no output or error that holds their secrets."""

from __future__ import annotations

import traceback

import pytest

from photometer.cli.output_options import hidden
from photometer.errors import PhotometerError, StoreError
from photometer.history.connection import parse_place, shown, without_secrets
from photometer.history.store import open_store
from tests.history.postgresql_server import PASSWORD

SECRET = "hunter2-öä%"
URL = f"postgresql://ada:{SECRET.replace('%', '%25')}@nowhere.invalid:1/db?sslpassword=hunter3&application_name=ci"


def test_a_bare_postgresql_url_is_read_with_psycopg() -> None:
    assert parse_place("postgresql://host/db").drivername == "postgresql+psycopg"


@pytest.mark.parametrize("place", ["mysql://ada:hunter2@host/db", "postgresql://ada:hunter2@host:port/db"])
def test_places_that_cannot_be_meant_are_errors_without_secrets(place: str) -> None:
    with pytest.raises(StoreError) as caught:
        parse_place(place)
    assert "hunter2" not in _everything(caught.value)


def test_a_place_with_a_zero_byte_is_refused() -> None:
    with pytest.raises(StoreError, match="zero byte"):
        parse_place("a\0b.sqlite")


def test_a_place_is_shown_without_secrets() -> None:
    words = shown(parse_place(URL))
    assert "hunter" not in words
    assert "nowhere.invalid" in words
    assert "application_name=ci" in words


def test_an_error_of_the_server_holds_no_secret() -> None:
    with pytest.raises(StoreError) as caught:
        open_store(URL, create=True)
    text = _everything(caught.value)
    assert "hunter" not in text
    assert "nowhere.invalid" in text


def test_a_wrong_password_is_not_repeated(postgresql: str) -> None:
    wrong = postgresql.replace(PASSWORD, "hunter2-wrong")
    with pytest.raises(StoreError) as caught:
        open_store(wrong)
    assert "password authentication failed" in str(caught.value)
    assert "hunter2" not in _everything(caught.value)


def test_a_command_line_is_shown_without_secrets() -> None:
    told = hidden(["compare", "a", "b", "--store", URL, f"--store={URL}", "git:x@https://h/"])
    assert "hunter" not in " ".join(told)
    assert told[:3] == ["compare", "a", "b"]
    assert told[5].startswith("--store=postgresql+psycopg://ada:***@nowhere.invalid")
    assert hidden(["run", "standard"]) == ["run", "standard"]


def test_secrets_are_taken_out_of_any_text() -> None:
    assert "hunter" not in without_secrets(f"could not open {URL}: no {SECRET}", URL)
    assert without_secrets("a text", "some/path") == "a text"


def _everything(error: PhotometerError) -> str:
    """What a user, a log or a results file could show of it."""
    return "\n".join([*traceback.format_exception(error), str(error), repr(error), repr(error.__dict__)])

"""Secrets are taken out, nothing else is, in time that grows with the text alone."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gshtui.guard.secrets.redaction import Redactor
from gshtui.guard.secrets.secret_names import is_secret_name
from gshtui.text.secret_shapes import ANY, MARK, SHAPES
from tests.kit.steps import steps

_HEX = "0123456789abcdef" * 4
_LETTERS = "aB3dE5fG7hJ9kL1mN0pQ2rS4tU6vW8xY" * 3

# Put together here, so that no scanner of repositories takes a test for a leak.
TOKENS = [
    f"sk-ant-api03-{_LETTERS[:80]}",
    f"sk-proj-{_LETTERS[:60]}",
    f"sk-{_LETTERS[:48]}",
    f"AIza{_LETTERS[:35]}",
    f"ghp_{_LETTERS[:36]}",
    f"github_pat_{_LETTERS[:60]}",
    f"glpat-{_LETTERS[:20]}",
    f"xoxb-1234567890-{_LETTERS[:24]}",
    f"AKIA{'ABCDEFGH12345678'}",
    f"sk_live_{_LETTERS[:24]}",
    f"npm_{_LETTERS[:36]}",
    f"pypi-{_LETTERS[:60]}",
    f"hf_{_LETTERS[:34]}",
    f"SG.{_LETTERS[:22]}.{_LETTERS[:43]}",
    f"dop_v1_{_HEX}",
    f"eyJ{_LETTERS[:30]}.eyJ{_LETTERS[:40]}.{_LETTERS[:43]}",
]
SECRETS = [
    ("export DB_PASSWORD=hunter2", "hunter2"),
    ("PGPASSWORD=hunter2 psql -h db", "hunter2"),
    ("MY_API_KEY='two words'", "two words"),
    ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfi", "wJalrXUtnFEMI"),
    ('{"password": "hunter two", "a": 1}', "hunter two"),
    ('{\\"api_key\\": \\"hunter2\\"}', "hunter2"),
    ("client_secret: 'hunter2'", "hunter2"),
    ("deploy --password hunter2 --now", "hunter2"),
    ("deploy --auth-token=hunter2", "hunter2"),
    ("sshpass -phunter2 ssh host", "hunter2"),
    ("curl -s -u bob:hunter2 https://host", "hunter2"),
    ("mysql -u root -phunter2 shop", "hunter2"),
    ("curl -H 'Authorization: Bearer abcd1234efgh5678'", "abcd1234efgh5678"),
    ("Authorization: Basic Ym9iOmh1bnRlcjI=", "Ym9iOmh1bnRlcjI="),
    ("X-API-Key: hunter22", "hunter22"),
    ("git clone https://bob:hunter2@host/x.git", "hunter2"),
    ("git clone https://a1b2c3d4e5f6a7b8c9d0@host/x.git", "a1b2c3d4e5f6a7b8c9d0"),
    ("postgres://app:p%40ss@db:5432/shop", "p%40ss"),
    ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNz\n-----END OPENSSH PRIVATE KEY-----", "b3BlbnNz"),
    ("-----BEGIN RSA PRIVATE KEY-----\nb3BlbnNz\nb3Bl", "b3Bl"),
]
ORDINARY = [
    "sk-admin-dashboard-container-header and pypi-simple-index-mirror-configuration-guide",
    "SG.Namespace16.Namespace16, xapp-thumbnailers-gimp-common, tskey-rotation-and-renewal",
    "AKIAIOSFODNN7EXAMPLE",
    "-----BEGIN PRIVATE KEY----- is how a key begins, in words (and more of them)",
    "git show 3f786850e387550fdab836ed7e6dc881de23001b",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "cd /usr/share/passwords/tokens && ls secret/keys",
    "max_tokens = 8000, prune_protect_tokens=40000",
    "token = read_token()  # the token: it ends here",
    "def login(password=password, token=self.token):",
    "echo $API_TOKEN; TOKEN=$(cat x) run --token $TOKEN",
    "PWD=/tmp/x OLDPWD=/",
    "password: must be 8 characters long",
    "ssh bob@host:/srv/x https://host:8080/a@b",
    "task-runner-with-a-rather-long-name sk-learn scikit-learn",
    "the key = value pairs, keys=[], tokens: 1234, secret=''",
    "pytest -k 'password' --maxfail=1 --passes",
    "550e8400-e29b-41d4-a716-446655440000",
    "mypy -p package; mkdir -p secret; cp -p a b",
    "import secrets; secrets.token_hex(8)",
]


@pytest.mark.parametrize("token", TOKENS)
def test_tokens_of_services_are_taken_out(token: str) -> None:
    for text in (token, f'x "{token}" y', f"KEY={token}", f"https://h/?a={token}&b=1", f"a\n{token}\nb"):
        found = Redactor().redact(text)
        assert MARK in found
        assert token[-10:] not in found


def test_every_shape_is_looked_for() -> None:
    assert all(ANY.fullmatch(literal) for literal, _ in SHAPES)


@pytest.mark.parametrize(("text", "secret"), SECRETS)
def test_named_secrets_are_taken_out(text: str, secret: str) -> None:
    found = Redactor().redact(text)
    assert secret not in found
    assert MARK in found


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_stays(text: str) -> None:
    assert Redactor().redact(text) == text


def test_secrets_that_are_glued_together_are_all_taken_out() -> None:
    assert Redactor().redact(f"dop_v1_{_HEX}sk-ant-api03-{_LETTERS[:60]}") == MARK * 2


def test_what_surrounds_a_secret_stays() -> None:
    assert Redactor().redact("a --password hunter2 --b") == f"a --password {MARK} --b"
    assert Redactor().redact('{"token": "abc1", "b": 2}') == f'{{"token": "{MARK}", "b": 2}}'


def test_values_of_secret_variables_are_taken_out_wherever_they_stand() -> None:
    environ = {"SHOP_PASSWORD": "sword fish/9", "HOME": "/home/bob", "ODD": "my-own-value-1", "API_TOKEN": "short"}
    redactor = Redactor(environ, names=["ODD"])
    text = "sword fish/9, sword%20fish%2F9, my-own-value-1, /home/bob, short"
    assert redactor.redact(text) == f"{MARK}, {MARK}, {MARK}, /home/bob, short"


@pytest.mark.parametrize(
    "name",
    [
        "GITHUB_TOKEN",
        "DB_PASSWORD",
        "OPENAI_API_KEY",
        "api_key_prod",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_ACCESS_KEY_ID",
        "SECRET_KEY_BASE",
        "SENTRY_DSN",
    ],
)
def test_names_that_mean_a_secret(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name", ["PATH", "PWD", "TOKEN_FILE", "SSH_AUTH_SOCK", "MAX_TOKENS_LEFT", "KEYBOARD", "MONKEY"]
)
def test_names_that_do_not(name: str) -> None:
    assert not is_secret_name(name)


_PIECES = st.sampled_from(
    [
        *TOKENS,
        *(text for text, _ in SECRETS),
        *ORDINARY,
        MARK,
        "password",
        "=",
        ": ",
        '"',
        "'",
        "\\",
        " ",
        "\n",
        "://",
        "@",
        "token",
        "--",
        "-----BEGIN PRIVATE KEY-----",
        "-----END",
        "eyJ",
        "bearer ",
        "authorization:",
        "İ",
        "[",
        "redacted",
    ]
)
_TEXT = st.lists(st.one_of(_PIECES, st.text(max_size=8)), max_size=12).map("".join)


@given(_TEXT)
def test_twice_is_once(text: str) -> None:
    redactor = Redactor({"A_SECRET": "password=x1"})
    once = redactor.redact(text)
    assert redactor.redact(once) == once


@given(st.text(alphabet=string.ascii_lowercase + " \n/.", max_size=200))
def test_words_and_paths_stay(text: str) -> None:
    assert Redactor().redact(text) == text


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "token=",
        "sk-",
        "eyJ",
        "eyJaaaaaaaaaaaa.",
        "://a:",
        "password='",
        "curl ",
        "mysql -p",
        "bearer ",
        "--a",
        "key:",
        "-----BEGIN RSA PRIVATE KEY-----",
        "authorization: ",
        "a:@",
        "İtoken=x",
        '\\"',
    ],
)
def test_time_grows_with_the_text_alone(piece: str) -> None:
    def work(characters: int) -> int:
        text = piece * (characters // len(piece))
        return steps(lambda: Redactor().redact(text))

    # Quadratic work would be 64 times as much for eight times the text.
    assert work(800_000) < 10 * work(100_000) + 1_000

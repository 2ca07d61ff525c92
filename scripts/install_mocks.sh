#!/usr/bin/env bash
# Installs what the end-to-end tests work with under PREFIX, for `make test-editors`: two servers of
# the Messages API written by others, and the source of click, a real project to work on. Needs
# Python 3.11 with venv, and Node 20. About 100 MB. A second run does what is missing and nothing
# else.
set -euo pipefail

AIMOCK=1.43.0
LLMOCK=0.2.2
CLICK=8.3.0
CLICK_SHA256=e7b8232224eba16f4ebe410c25ced9f7875cb5f3263ffc93cc3e8da705e229c4

. "$(dirname "${BASH_SOURCE[0]}")/steps.sh"

aimock() {
  rm -rf "$PREFIX/aimock"
  mkdir -p "$PREFIX/aimock"
  cd "$PREFIX/aimock"
  npm init -y
  npm install --save-exact --ignore-scripts --no-audit --no-fund "@copilotkit/aimock@$AIMOCK"
  node node_modules/@copilotkit/aimock/dist/cli.js --help
}

# A venv of its own: the server brings a web framework that agentls has no use for.
llmock() {
  rm -rf "$PREFIX/llmock"
  python3 -m venv "$PREFIX/llmock"
  "$PREFIX/llmock/bin/python" -m pip install --quiet --no-input "llmock==$LLMOCK"
  "$PREFIX/llmock/bin/llmock" --help
}

# The archive is checked and unpacked, not installed. Debian's Python comes without a pip of its
# own, so that of the other venv takes it.
click() {
  local to=$PREFIX/click
  rm -rf "$to"
  mkdir -p "$to/archive"
  echo "click==$CLICK --hash=sha256:$CLICK_SHA256" >"$to/archive/requirements.txt"
  "$PREFIX/llmock/bin/python" -m pip download --quiet --no-input --no-deps --no-binary click \
    --require-hashes --requirement "$to/archive/requirements.txt" --dest "$to/archive"
  tar -xzf "$to/archive/click-$CLICK.tar.gz" -C "$to"
  mv "$to/click-$CLICK" "$to/source"
  test -f "$to/source/src/click/core.py"
}

step "aimock-$AIMOCK" aimock
step "llmock-$LLMOCK" llmock
step "click-$CLICK" click
echo "aimock $AIMOCK, llmock $LLMOCK and the source of click $CLICK are in $PREFIX"

#!/usr/bin/env bash
# Installs bubblewrap for `make test-editors`: with it the tests give a server a small disk of its
# own and fill it. Needs Debian or Ubuntu, and root or sudo. Nothing else is touched; a second run
# does nothing.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/steps.sh"

if ! command -v bwrap >/dev/null; then
  echo "installing Debian's bubblewrap"
  as_root apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends bubblewrap >/dev/null
fi
if ! bwrap --dev-bind / / --size 4096 --tmpfs /tmp -- true; then
  echo "bubblewrap may make no namespaces here: the tests with a full disk will fail" >&2
fi

bwrap --version

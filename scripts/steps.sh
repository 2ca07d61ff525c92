# Sourced by the install scripts: PREFIX, where everything goes, and steps that run once.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
PREFIX=${PREFIX:-$ROOT/.editors}
STAMPS=$PREFIX/stamps
mkdir -p "$STAMPS"

# Runs a step once for each version of what it installs.
step() {
  local stamp=$STAMPS/$1 log=$PREFIX/install-$1.log status=0
  shift
  [ ! -e "$stamp" ] || return 0
  echo "installing $(basename "$stamp")"
  set +e # in a condition, bash would not stop the step at its first failure
  (
    set -e
    "$@"
  ) >"$log" 2>&1
  status=$?
  set -e
  if [ $status != 0 ]; then
    tail -n 20 "$log" >&2
    echo "failed: $(basename "$stamp"); the whole output is in $log" >&2
    exit 1
  fi
  touch "$stamp"
}

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

# Sourced by run, test and check: makes .venv and installs what is missing. Quick when all is there.
# shellcheck shell=bash
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
venv="$root/.venv"
log="$root/.venv-set-up.log"

say() { printf '%s\n' "$*" >&2; }

find_python() {
  local candidate
  for candidate in ${PYTHON:-} python3 python3.13 python3.12 python3.11 python3.10; do
    if "$candidate" -c 'import sys, venv, ensurepip; raise SystemExit(sys.version_info < (3, 10))' 2>/dev/null; then
      command -v "$candidate"
      return
    fi
  done
  say "photometer needs Python 3.10 or newer with venv. Install it (Debian: apt-get install python3-venv) or set PYTHON."
  exit 1
}

quietly() {  # runs a command with its output in the log, which is shown if it fails
  if ! "$@" >>"$log" 2>&1; then
    tail -n 30 "$log" >&2
    say "set-up failed at: $*"
    say "the whole log: $log"
    exit 1
  fi
}

# make_environment [measuring]: all that developers need, or only what measuring needs, which takes less time and room.
make_environment() {
  local wanted extras size kind=${1:-dev}
  case $kind in
    measuring) extras='.[flame]' size='about 150 MB' ;;
    dev) extras='.[dev,flame]' size='about 700 MB, with the tools for tests and docs' ;;
  esac
  wanted=$(cksum pyproject.toml "${BASH_SOURCE[0]}" | cksum)
  # What developers need is more than what measuring needs.
  if "$venv/bin/python" -c '' 2>/dev/null; then
    case $(cat "$venv/.ready" 2>/dev/null) in
      "dev $wanted" | "$kind $wanted") return ;;
    esac
  fi
  : >"$log"
  local python
  python=$(find_python)
  if ! "$venv/bin/python" -c '' 2>/dev/null; then
    say "making .venv with $("$python" --version) …"
    quietly "$python" -m venv --clear "$venv"
  fi
  # torch by its exact version first: if a CPU build is at hand, pip then takes that one.
  if ! "$venv/bin/python" -c 'import torch' 2>/dev/null; then
    say "installing torch 2.13.0 (200 MB for the CPU; some gigabytes if pip finds only the CUDA build) …"
    quietly "$venv/bin/pip" install torch==2.13.0 numpy
  fi
  say "installing photometer and what it needs ($size) …"
  # uv takes seconds for what another clone has installed already.
  if command -v uv >/dev/null; then
    quietly uv pip install --quiet --python "$venv/bin/python" -e "$extras"
  else
    quietly "$venv/bin/pip" install --upgrade-strategy only-if-needed -e "$extras"
  fi
  printf '%s %s' "$kind" "$wanted" >"$venv/.ready"
}

# install_tools "PROGRAM:DEBIAN:FEDORA:ARCH" …  A missing one is installed if that is allowed; otherwise its command is named.
install_tools() {
  local entry program missing=() debian=() fedora=() arch=() deb fed arc
  for entry in "$@"; do
    IFS=: read -r program deb fed arc <<<"$entry"
    local alternative found=
    for alternative in ${program//,/ }; do command -v "$alternative" >/dev/null && found=1; done
    [ -n "$found" ] && continue
    missing+=("$program") debian+=("$deb") fedora+=("$fed") arch+=("$arc")
  done
  [ ${#missing[@]} -eq 0 ] && return
  local install=()
  if command -v apt-get >/dev/null; then install=(apt-get install -y -q "${debian[@]}")
  elif command -v dnf >/dev/null; then install=(dnf install -y -q "${fedora[@]}")
  elif command -v pacman >/dev/null; then install=(pacman -S --noconfirm --needed "${arch[@]}")
  else say "missing: ${missing[*]}. Install them with this system's package manager; what needs them is left out."; return; fi
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if sudo -n true 2>/dev/null; then as_root=(sudo -n)
    else say "missing: ${missing[*]}. Install with: sudo ${install[*]}"; say "What needs them is left out until then."; return; fi
  fi
  say "installing ${missing[*]} …"
  if [ "${install[0]}" = apt-get ]; then
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -q >>"$log" 2>&1 || true
    install=(env DEBIAN_FRONTEND=noninteractive "${install[@]}")
  fi
  if ! "${as_root[@]}" "${install[@]}" >>"$log" 2>&1; then
    say "could not install ${missing[*]} with: ${install[*]} (see $log). What needs them is left out."
  fi
}

measuring_tools=("valgrind:valgrind:valgrind:valgrind" "c++,g++,clang++:g++:gcc-c++:gcc")
# Debian keeps the server's programs off the PATH, but not pg_ctlcluster. Tests start a server of their own in a temporary
# folder, as another user if this is root (tests/history/postgresql_server.py); without one they are skipped by name.
store_tools=("pg_ctlcluster,postgres,pg_ctl:postgresql:postgresql-server:postgresql")

# What needs no other program and takes no longer than a few seconds.
export FAST_TESTS="not slow and not nightly and not valgrind and not compiler and not browser and not pyspy and not gpu"

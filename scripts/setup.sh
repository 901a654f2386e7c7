#!/bin/sh
# usage: scripts/setup.sh EXTRAS
# Says what it will install, then installs it: the Debian packages that are missing, and .venv with
# rlfabric[EXTRAS] at the versions of constraints.txt. Exit code 3: something must be installed that
# this user may not install.
set -eu
cd "$(dirname "$0")/.."
extras=${1:-dev}
python=${PYTHON:-python3}
# Where torch's builds without CUDA are; a mirror of it does as well.
torch_index=${TORCH_INDEX:-https://download.pytorch.org/whl/cpu}

stop() {
    echo "setup: $1" >&2
    exit 3
}

# How packages are installed: as root, or, with SUDO=1, through a sudo that asks no password; else
# name them and stop.
find_root() {
    if ! command -v apt-get >/dev/null; then
        stop "$* must be installed (the names are Debian's), and apt-get is not here to do it"
    elif [ "$(id -u)" -eq 0 ]; then
        root=""
    elif [ "${SUDO:-0}" = 1 ] && sudo -n true 2>/dev/null; then
        root="sudo -n "
    else
        stop "these must be installed: sudo apt-get install $* (SUDO=1 does it, without a password)"
    fi
}

install() {
    find_root "$@"
    echo "setup: ${root}apt-get install $*"
    # The list of packages of a fresh machine is empty; of an old one, it may name files long gone.
    ${root}apt-get -qq update || echo "setup: apt-get update failed, going on" >&2
    ${root}env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 \
        install -y --no-install-recommends "$@" >/dev/null || stop "apt-get install $* failed"
}

# Verilator's own scripts and makefiles do not quote their paths.
case $PWD in
    *[[:space:]]*) stop "the path of this directory must be without spaces, not '$PWD'" ;;
esac
command -v "$python" >/dev/null || stop "$python must be installed (apt-get install python3)"
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
    stop "python must be at least 3.10, not $version (name another one: make PYTHON=...)"

missing=""
for tool in iverilog g++; do
    command -v "$tool" >/dev/null || missing="$missing $tool"
done
command -v tclsh >/dev/null || missing="$missing tcl"
# Debian always has a perl, but not the module by which Verilator reads its options.
perl -MPod::Usage -e 1 2>/dev/null || missing="$missing perl"
# Debian ships Python without the half of venv that installs pip.
"$python" -c 'import ensurepip, venv' 2>/dev/null || missing="$missing python$version-venv"
# All of it is said before any of it is done: who does not want it can stop here.
# shellcheck disable=SC2086 # one word a package
if [ -n "$missing" ]; then
    find_root $missing
    echo "setup: will install for the whole machine: ${root}apt-get install$missing"
fi
echo "setup: will install into .venv, with Python $version: rlfabric[$extras], as constraints.txt says"
# cocotb loads Python into the simulator as a shared library, which Debian packages by itself.
case ,$extras, in *,test,*) cocotb=yes ;; *) cocotb="" ;; esac
[ -z "$cocotb" ] ||
    echo "setup: will install for the whole machine, if cocotb finds none: libpython$version"
# shellcheck disable=SC2086
[ -z "$missing" ] || install $missing

[ -x .venv/bin/python ] && .venv/bin/python -m pip --version >/dev/null 2>&1 ||
    "$python" -m venv --clear .venv
pip_install() {
    .venv/bin/python -m pip install --quiet --disable-pip-version-check \
        --constraint constraints.txt "$@"
}
# On Linux the package index has torch with CUDA, which is gigabytes, and nothing here needs that.
# Torch alone is asked of its own index, which has other packages too. Where that is out of reach,
# a CPU build may still be among what pip is configured to look through; retries would be minutes.
case ,$extras,$(uname -s) in
    *,torch,*Linux)
        echo "setup: torch without CUDA from $torch_index"
        pip_install --no-deps --retries 0 --timeout 15 --index-url "$torch_index" torch ||
            echo "setup: no CPU build of torch at $torch_index, going on with pip's own index" >&2
        ;;
esac
pip_install --editable ".[$extras]"

[ -z "$cocotb" ] || [ -n "$(.venv/bin/python -m find_libpython)" ] || install "libpython$version"
echo "setup: done"

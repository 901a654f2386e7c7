#!/bin/sh
# usage: scripts/build_pyxrt.sh RELEASE|FILE
# Builds pyxrt for the Python of .venv (PYTHON=... for another one) against the XRT that is
# installed. RELEASE is XRT's own branch, such as 2022.2, whose pyxrt.cpp is downloaded; FILE is that
# file. It must be of the release that is installed, as XRT's headers must (packages xrt, uuid-dev;
# of 2021.2, and from 2024.1 on, they include Boost's: libboost-dev, on RHEL boost-devel).
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-.venv/bin/python}
xrt=${XILINX_XRT:-/opt/xilinx/xrt}

stop() {
    echo "build_pyxrt: $1" >&2
    exit 3
}

[ $# -eq 1 ] || stop "RELEASE or FILE must be given: sh scripts/build_pyxrt.sh 2022.2"
[ -f "$xrt/include/xrt/xrt_device.h" ] ||
    stop "XRT must be installed, with $xrt/include/xrt/xrt_device.h (XILINX_XRT says where)"
[ -e "$xrt/lib/libxrt_coreutil.so" ] || stop "$xrt/lib/libxrt_coreutil.so must be there"
command -v "$python" >/dev/null || stop "$python must be there: make setup"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -f "$1" ]; then
    source=$1
else
    source=$work/pyxrt.cpp
    curl -fsSL -o "$source" \
        "https://raw.githubusercontent.com/Xilinx/XRT/$1/src/python/pybind11/src/pyxrt.cpp" ||
        stop "XRT must have a branch $1; \`xbutil --version\` names the one that is installed"
fi

# All that pyxrt.cpp includes, before pybind11 is fetched: what is missing is a package to install.
includes=$("${CXX:-c++}" -std=c++17 -E -M -MG -I"$xrt/include" "$source")
for header in boost/any.hpp boost/format.hpp uuid/uuid.h; do
    case "$includes " in
        *" $header "*) stop "$header must be there (libboost-dev, uuid-dev; boost-devel, libuuid-devel)" ;;
    esac
done

# Headers alone, which belong to this build and to nothing else.
"$python" -m pip install --quiet --disable-pip-version-check --target "$work/pybind11" pybind11
suffix=$("$python" -c 'import sysconfig; print(sysconfig.get_config_var("EXT_SUFFIX"))')
include=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')
place=$("$python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
"${CXX:-c++}" -O2 -shared -fPIC -std=c++17 -fvisibility=hidden \
    -I"$work/pybind11/pybind11/include" -I"$include" -I"$xrt/include" "$source" \
    -o "$work/pyxrt$suffix" -L"$xrt/lib" -Wl,-rpath,"$xrt/lib" -lxrt_coreutil -luuid -pthread
mv "$work/pyxrt$suffix" "$place/"
echo "build_pyxrt: $place/pyxrt$suffix"

#!/bin/sh
# usage: scripts/build_pyxrt.sh RELEASE|FILE
# Builds pyxrt for the Python of .venv (PYTHON=... for another one) against the XRT that is
# installed. RELEASE is one of the table below, such as 2022.2: its pyxrt.cpp is downloaded, and must
# have the digest of the table, since it is compiled and run. FILE is a pyxrt.cpp from elsewhere,
# which is not checked. pyxrt.cpp and XRT's headers must be of the installed release (packages xrt,
# uuid-dev; headers of 2021.2, and from 2024.1 on, include Boost's: libboost-dev, on RHEL
# boost-devel).
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-.venv/bin/python}
xrt=${XILINX_XRT:-/opt/xilinx/xrt}

# From XRT's repository: release, commit of the branch of that name, SHA-256 of pyxrt.cpp.
releases="\
2021.2 84844e4255f976700e3fd55e8df8d44d49409b75 26186364580733a8b452f2c0cb0d0281a78b9ba096923759df33ab3d1f720686
2022.1 ca4bdf101cd1d698377f5a7113d8583f709c2143 90dee89188cc1a419ea45d332a526f4bbc1ed2eb12b326ab8624c42eb13692a3
2022.2 c833695062f3fd8d20427a66f632737047922657 10a2c5101ecb0b1af43d153c3b50945a01728f84028e151c949aba508ad132b2
2023.1 46b354a124c9f003a8e6ea1b95041a5805436449 8b41c957609d3f42fd6985d5c481541b77c9de5bd3613f473922461cfeb1b6f1
2023.2 c4a784fc290bc5dc4a805c94ee714d71e93085cc 3ff87ab6695a70bbbc56ad6102bdbc060ad9c7c3b62d360b9e010b52e10e219e
2024.1 1804749ec79fea4c36a770a41db3e47db4074425 8fa2b0ceef5389e0e525eb13610882879f81536cfcce24bcc4bae7cf9a0b3bad
2024.2 82a29bd90ff9233653532ca2243c28c7764b2680 8fa2b0ceef5389e0e525eb13610882879f81536cfcce24bcc4bae7cf9a0b3bad
2025.1 c3158a97a72f2c9522d03704243459583c52a2a4 d7452d9c886aeed0177dbd3802cc6cb5a3097fef7d6ad75e56873037b80bf3ae
2025.2 c76083f395a8053b832de892a2bcd2d9820f3993 6df9490656aa3756a53f32cfa1e914c52fab6fe930d3f918227c94d97c44005e
2026.1 e61a02867980c8fd8acd80a3a4936d683caa1d82 6db4266515a9668f9f5e539e5900a6d30bfa5156451009cf79762f926b4991ed"
# The pybind11 with which all of them were compiled, as a requirement of pip.
pybind11="pybind11==3.1.0 --hash=sha256:b8488090f8acffbcb6b5d6a85571a6827a0a2981ffb75e5a0b27b87c4a6b7dd0"

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
    known=$(echo "$releases" | cut -d " " -f 1 | tr "\n" " ")
    commit=$(echo "$releases" | sed -n "s/^$1 \(.*\) .*/\1/p")
    digest=$(echo "$releases" | sed -n "s/^$1 .* //p")
    [ -n "$commit" ] || stop "RELEASE must be one of ${known}or FILE a file, not $1; \
\`xbutil --version\` names the release that is installed"
    source=$work/pyxrt.cpp
    url="https://raw.githubusercontent.com/Xilinx/XRT/$commit/src/python/pybind11/src/pyxrt.cpp"
    curl -fsSL -o "$source" "$url" || stop "$url must be within reach"
    echo "$digest  $source" | sha256sum --check --status ||
        stop "$url must have the SHA-256 $digest, not $(sha256sum <"$source")"
fi

# All headers of pyxrt.cpp are checked before pybind11 is fetched: packages with missing ones must be
# installed.
includes=$("${CXX:-c++}" -std=c++17 -E -M -MG -I"$xrt/include" "$source")
for header in boost/any.hpp boost/format.hpp uuid/uuid.h; do
    case "$includes " in
        *" $header "*) stop "$header must be there (libboost-dev, uuid-dev; boost-devel, libuuid-devel)" ;;
    esac
done

# pybind11 has headers alone, and only this build uses them.
echo "$pybind11" >"$work/requirements.txt"
"$python" -m pip install --quiet --disable-pip-version-check --target "$work/pybind11" \
    --only-binary :all: --require-hashes --requirement "$work/requirements.txt"
suffix=$("$python" -c 'import sysconfig; print(sysconfig.get_config_var("EXT_SUFFIX"))')
include=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')
place=$("$python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
"${CXX:-c++}" -O2 -shared -fPIC -std=c++17 -fvisibility=hidden \
    -I"$work/pybind11/pybind11/include" -I"$include" -I"$xrt/include" "$source" \
    -o "$work/pyxrt$suffix" -L"$xrt/lib" -Wl,-rpath,"$xrt/lib" -lxrt_coreutil -luuid -pthread
mv "$work/pyxrt$suffix" "$place/"
echo "build_pyxrt: $place/pyxrt$suffix"

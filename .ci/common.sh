# What .ci/run and .ci/nightly share: Pythons, a fresh environment with the built wheel, servers, pytest. To be sourced.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

versions=${TRIPTYCH_CI_PYTHONS:-3.11 3.12 3.13 3.14}
unset TRIPTYCH_CI_PYTHONS # no setting of the package, which warns of those that it does not know
unset PYTHONPATH          # the wheel is what is tested, not the source tree

# Prints "version path" of each CPython that can make an environment, the first one of a version only.
find_pythons() {
    local candidate version found=" "
    for candidate in "${PYTHON:-}" python3 python3.1{2,3,1,4} "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.*/bin/python; do
        [[ -n $candidate ]] && version=$("$candidate" -c '
import ensurepip, sys, venv
is_usual = sys.implementation.name == "cpython" and "t" not in sys.abiflags
print("{}.{}".format(*sys.version_info) if is_usual else "other")' 2>/dev/null) || continue
        if [[ " $versions " == *" $version "* && $found != *" $version "* ]]; then
            found+="$version "
            echo "$version $candidate"
        fi
    done
}

step() {
    local title=$1 began=$SECONDS
    shift
    printf '\n=== %s\n' "$title"
    "$@"
    printf -- '--- %s: %d s\n' "$title" $((SECONDS - began))
}

build_and_install() {
    "$bin/pip" wheel --quiet --no-deps --wheel-dir "$scratch/dist" .
    install_into "$bin"
    "$bin/triptych" --version
}

# The wheel with one of its extras.
install_into() {
    local wheel
    wheel=$(ls "$scratch"/dist/triptych-*.whl)
    "$1/pip" install --quiet "${wheel}[${2:-dev}]"
}

# Tests of the remote store talk to a real server, and tests of exports link; where that cannot be had they say so.
find_servers() {
    command -v redis-server >/dev/null ||
        { apt-get update -qq && apt-get install -y -qq redis-server; } >/dev/null 2>&1 ||
        echo "no redis-server: its tests are skipped"
    command -v gcc >/dev/null ||
        { apt-get update -qq && apt-get install -y -qq gcc libc6-dev; } >/dev/null 2>&1 ||
        echo "no gcc: tests that link exported objects are skipped"
}

run_pytest() {
    local bin=$1
    shift
    "$bin/python" -m pytest -q -n 2 --dist worksteal --timeout 300 --durations 10 -p no:cacheprovider "$@" | tee "$scratch/pytest.log"
}

mapfile -t pythons < <(find_pythons)
if ((${#pythons[@]} == 0)); then
    echo "one of Python $versions with venv is needed (set PYTHON to choose one)" >&2
    exit 1
fi
first=${pythons[0]%% *}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
bin=$scratch/venv/bin

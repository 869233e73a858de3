#!/bin/sh
# Set up .venv with the `fairlead` command.
#
#   scripts/setup.sh run      what running needs
#   scripts/setup.sh test     and what the tests need
#   scripts/setup.sh native   build the launcher anew
#
# Quick when nothing changed. What could not be got is listed, with what it means, and we go on
# without it; with CI=true that is a failure. Only Python itself can't be gone without.
set -eu
cd "$(dirname "$0")/.."
stage=${1:-test}
venv=.venv
export PIP_DISABLE_PIP_VERSION_CHECK=1 DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8

say() { printf 'setup: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

# program | Debian packages | what is lost without it
for_running='
cc|gcc libc6-dev|the native launcher is not built; commands start through pure Python, slower and with a weaker hold on daemons that escape
'
for_testing='
git|git|tests of repositories
zsh|zsh|tests of Zsh
fish|fish|tests of fish
dash|dash|tests of plain sh
vim|vim|the test that edits a file in vim
less|less|the test that pages a file
node|nodejs|the test of the Node REPL
ps|procps|tests that look at processes from outside
bwrap|bubblewrap|tests of the sandbox without the launcher
sudo|sudo|the probe that it fails cleanly in a sandbox
make|make|the probe that it works in a sandbox
npm|npm|the probe that it works in a sandbox, offline
podman|podman runc|tests of containers
'

missing() {  # rows of programs that are not here
    printf '%s\n' "$1" | while IFS='|' read -r program packages loss; do
        [ -z "$program" ] || have "$program" || printf '%s|%s|%s\n' "$program" "$packages" "$loss"
    done
}

may_install() {
    have apt-get && { [ "$(id -u)" = 0 ] || { have sudo && sudo -n true 2>/dev/null; }; }
}

apt() {
    if [ "$(id -u)" = 0 ]; then apt-get "$@"
    else sudo -n env DEBIAN_FRONTEND=noninteractive apt-get "$@"
    fi >/dev/null 2>&1 </dev/null
}

apt_install() {  # all at once; failing that one by one, so that one bad name does not cost the rest
    may_install || return 0
    say "installing Debian packages: $*"
    apt update || true
    apt install -y --no-install-recommends "$@" && return
    for package in "$@"; do apt install -y --no-install-recommends "$package" || true; done
}

get_programs() {
    rows=$(missing "$1")
    [ -n "$rows" ] || return 0
    # shellcheck disable=SC2046  # the packages are words
    apt_install $(printf '%s\n' "$rows" | cut -d'|' -f2)
    rows=$(missing "$1")
    [ -n "$rows" ] || return 0
    say "could not get these, and go on without them:"
    printf '%s\n' "$rows" | while IFS='|' read -r program packages loss; do
        say "  $program (Debian: $packages): $loss"
    done
    [ "${CI:-}" != true ] || die "CI=true: a missing part is a failure"
}

modern() { have "$1" && "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

find_python() {
    for python in ${PYTHON:-} python3 python3.11 python3.12 python3.13 python3.14 /usr/bin/python3; do
        modern "$python" && return
    done
    apt_install python3 python3-venv
    python=python3
    modern "$python" || die "needs Python 3.11 or later; set PYTHON=/path/to/python3"
}

new_venv() {
    find_python
    if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
        # Debian keeps these two apart from python3, one package per minor version.
        minor=$("$python" -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
        apt_install python3-venv "$minor-venv"
    fi
    say "making $venv with $("$python" --version)"
    rm -rf $venv
    "$python" -m venv $venv >/dev/null 2>&1 && return
    # No ensurepip and no way to install it: a pip or virtualenv that is here already will do.
    "$python" -m virtualenv -q $venv >/dev/null 2>&1 && return
    rm -rf $venv
    "$python" -m venv --without-pip $venv >/dev/null 2>&1 &&
        "$python" -m pip --python $venv/bin/python install -q pip >/dev/null 2>&1 && return
    rm -rf $venv
    die "could not make $venv: install the Debian package python3-venv (as root), then try again"
}

make_venv() {
    # The mark is written last: a venv that was cut off half-way, or whose Python is gone, is made anew.
    [ -e $venv/.made ] && $venv/bin/python -c '' 2>/dev/null && return
    new_venv
    : >$venv/.made
}

sources() { find pyproject.toml setup.py scripts/setup.sh native -path native/build -prune -o -type f -print 2>/dev/null | sort; }

install() {  # the package, editable, with the extras named
    stamp=$venv/.installed-$stage
    now=$(pwd; sources | xargs cksum; command -v cc || true)
    [ "$(cat "$stamp" 2>/dev/null)" != "$now" ] || return 0
    say "installing fairlead$1 into $venv"
    $venv/bin/python -m pip install -q -e ".$1" ||
        die "pip could not install fairlead$1 (see above): it needs PyPI or a mirror of it"
    printf '%s\n' "$now" >"$stamp"
}

case $stage in
run)
    get_programs "$for_running"
    make_venv
    # Set up for the tests is set up for running.
    [ -e $venv/.installed-test ] && stage=test && set -- '[dev]' || set -- ''
    install "$1"
    ;;
test)
    get_programs "$for_running$for_testing"
    make_venv
    install '[dev]'
    ;;
native)
    rm -f $venv/.installed-*
    exec scripts/setup.sh run
    ;;
*) die "unknown stage: $stage (run, test or native)" ;;
esac

# Shared by the scripts of this directory; sourced, not run.
# shellcheck shell=bash

say() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; }
die() { say "$@"; exit 1; }

# Rust may live in CARGO_HOME, in the home directory, or on the system; HOME may be empty or unset.
find_cargo() {
    if ! command -v cargo >/dev/null 2>&1; then
        local place
        for place in "${CARGO_HOME:-}/bin" "${HOME:-}/.cargo/bin" /usr/local/cargo/bin /usr/local/bin /opt/cargo/bin; do
            if [ -x "$place/cargo" ]; then
                PATH="$place:$PATH"
                export PATH
                break
            fi
        done
    fi
    command -v cargo >/dev/null 2>&1 || die "cargo is not here; install Rust $(rust_version) or newer"
    # A rustup shim whose home is empty answers with an error: better now than in the middle of a build.
    cargo --version >/dev/null 2>&1 ||
        die "cargo does not start (is RUSTUP_HOME set to where the toolchain is?): $(cargo --version 2>&1 | head -n 1)"
    local have
    have=$(rustc --version | awk '{ print $2 }')
    if [ "$(printf '%s\n%s\n' "$(rust_version)" "$have" | sort -V | head -n 1)" != "$(rust_version)" ]; then
        die "rustc $have is too old; $(rust_version) or newer is needed"
    fi
}

rust_version() { sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml | head -n 1; }

# Where the driver builds are: one place for both scripts and every test (see src/driver/store.rs).
use_data_dir() {
    if [ -z "${REPRO_MATRIX_DATA:-}" ] && [ -z "${XDG_DATA_HOME:-}" ] && [ -z "${HOME:-}" ]; then
        REPRO_MATRIX_DATA=$PWD/target/data
        export REPRO_MATRIX_DATA
    fi
}

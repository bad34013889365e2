#!/usr/bin/env bash
# Installs the Debian packages that Canopy needs, and says clearly what is missing when it may not.
set -euo pipefail

# python3-venv: the virtual environment; mininet, procps (sysctl), iproute2, ethtool, iperf, uftp,
# libnorm1: the emulation and its tests;
# build-essential: the linker for Rust, and libFuzzer's compiler; tshark, ffmpeg: read captures, make media in tests.
packages=(python3-venv python3-dev build-essential procps iproute2 ethtool mininet iperf uftp libnorm1 tshark ffmpeg)

# Rust 1.95 or later, which Cranelift asks for, with rustfmt and clippy, which `make test` runs: a toolchain on PATH
# (rustup), else Debian's current one (rustc-web), else the distribution's own.
minimum_rust=1.95
rust_is_new_enough() {
    local version
    version=$("${1:-rustc}" --version 2>/dev/null | awk '{print $2}') || return 1
    [ -n "$version" ] && [ "$(printf '%s\n%s\n' "$minimum_rust" "$version" | sort -V | head -n 1)" = "$minimum_rust" ]
}

has_checkers() { cargo fmt --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1; }

missing=()
for package in "${packages[@]}"; do
    dpkg-query --show --showformat='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done

need_rust=no
if ! command -v cargo >/dev/null || ! rust_is_new_enough; then
    need_rust=yes
elif ! has_checkers; then
    # A toolchain of rustup's minimal profile is completed by rustup itself, one of the distribution's by its packages.
    if ! { command -v rustup && rustup component add rustfmt clippy; } >/dev/null 2>&1; then
        need_rust=yes
    fi
fi

if [ ${#missing[@]} -eq 0 ] && [ "$need_rust" = no ]; then
    exit 0
fi
if ! command -v apt-get >/dev/null; then
    echo "set-up: this is not Debian or Ubuntu; please install: ${missing[*]:-} and Rust $minimum_rust or later" >&2
    exit 2
fi
if [ "$(id -u)" -ne 0 ]; then
    echo "set-up: root is needed once to install system packages. Run as root: make setup" >&2
    echo "set-up: or install by hand: ${missing[*]:-}$([ "$need_rust" = yes ] && echo " and Rust $minimum_rust or later (with rustfmt and clippy: packages rustc-web cargo-web rustfmt-web rust-web-clippy, or rustup)")" >&2
    exit 2
fi

export DEBIAN_FRONTEND=noninteractive
echo "set-up: installing ${missing[*]:-}$([ "$need_rust" = yes ] && echo ' and Rust')"
apt-get update --quiet=2
if [ "$need_rust" = yes ]; then
    for set in "rustc-web cargo-web rustfmt-web rust-web-clippy" "rustc cargo rustfmt rust-clippy" "rustup"; do
        read -ra candidates <<<"$set"
        if apt-cache show "${candidates[0]}" >/dev/null 2>&1; then
            version=$(apt-cache policy "${candidates[0]}" | awk '/Candidate/ {print $2}')
            if [ "${candidates[0]}" = rustup ] || [ "$(printf '%s\n%s\n' "$minimum_rust" "$version" | sort -V | head -n 1)" = "$minimum_rust" ]; then
                missing+=("${candidates[@]}")
                break
            fi
        fi
    done
fi
apt-get install --yes --quiet=2 --no-install-recommends "${missing[@]}" >/dev/null
if command -v rustup >/dev/null && ! rust_is_new_enough; then
    rustup default stable
fi
hash -r
if ! rust_is_new_enough || ! has_checkers; then
    echo "set-up: no Rust $minimum_rust or later with rustfmt and clippy could be installed here; please install it (rustup) and run again" >&2
    exit 2
fi

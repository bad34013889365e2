#!/usr/bin/env bash
# Installs what `make package-test` needs beside what set-up has installed.
set -euo pipefail
missing=()
for package in buildah debootstrap systemd-container; do
    dpkg-query --show --showformat='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "package-test: please install: ${missing[*]}" >&2
    exit 2
fi
apt-get update --quiet=2
DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet=2 --no-install-recommends "${missing[@]}" >/dev/null

# Roots: minimal Debian and Ubuntu releases to build and test in, so that nothing is installed on this machine. Sourced by
# test/majors/run, test/packages/run, test/arm64/run and test/upgrade/majors; needs root, debootstrap, apt-get and the network.
# Packages come from where this machine's own apt takes its own; a release that is not there has no root.
# shellcheck shell=bash

say() { printf '==> %s\n' "$*"; }

# fetch ADDRESS FILE [HASH]: as apt-get would.
fetch() { /usr/lib/apt/apt-helper download-file "$@" >/dev/null 2>&1; }

# find_mirror RELEASE: sets mirror, and origin to Debian or Ubuntu; or says that there is none.
find_mirror() {
	local release=$1 folder
	folder=$(mktemp -d)
	while read -r mirror; do
		# Others than the distribution name their packages after its releases, too.
		if fetch "$mirror/dists/$release/InRelease" "$folder/InRelease" &&
			origin=$(grep -oPm1 '^Origin: \K(Debian|Ubuntu)$' "$folder/InRelease"); then
			rm -r "$folder"
			return
		fi
	done < <(apt-get --print-uris update | sed -nE "s|^'(https?://.*)/dists/.*|\1|p" | awk '!seen[$0]++')
	rm -r "$folder"
	say "no mirror in this machine's apt configuration has $release"
	return 1
}

# Debian 12 has no package with Ubuntu's keys, so they come from Ubuntu, pinned.
keyring_deb=ubuntu-keyring_2021.03.26_all.deb
keyring_sha256=0d0e7ed6b112f5d03eabf3c7eb01ebdacf9c57714b279e90495cfc58c8c4520f

ubuntu_keyring() {
	local base=$1 mirror=$2 keyring=$1/ubuntu-archive-keyring.gpg
	if [ ! -e "$keyring" ]; then
		fetch "$mirror/pool/main/u/ubuntu-keyring/$keyring_deb" "$base/$keyring_deb" "SHA256:$keyring_sha256" || return 1
		dpkg-deb --fsys-tarfile "$base/$keyring_deb" |
			tar -xO ./usr/share/keyrings/ubuntu-archive-keyring.gpg >"$keyring.unfinished"
		mv "$keyring.unfinished" "$keyring"
	fi
	echo "$keyring"
}

# What every root is made ready with: no daemon starts when its package is installed; a mirror may lag behind the clock.
prepare_root() {
	local root=$1
	printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
	chmod +x "$root/usr/sbin/policy-rc.d"
	echo 'Acquire::Check-Valid-Until "false";' >"$root/etc/apt/apt.conf.d/90mirror"
}

# make_root RELEASE LOG: makes the root RELEASE in the folder of LOG, from where find_mirror found it. Experimental is no
# whole release: its root is sid, whose packages stay first.
make_root() {
	local release=$1 log=$2 root components=main keyring=/usr/share/keyrings/debian-archive-keyring.gpg script=sid above=
	root=$(dirname "$log")/$release
	case $origin/$release in
	Ubuntu/*)
		components=main,universe
		keyring=$(ubuntu_keyring "$(dirname "$log")" "$mirror") || return 1
		script=gutsy # how all of Ubuntu's releases are made; debootstrap may not know the newest by name
		above=$release-updates # minor releases, which Debian's release has itself
		;;
	Debian/experimental) release=sid above=experimental ;;
	esac
	rm -rf "$root" "$root.unfinished"
	debootstrap --variant=minbase --components="$components" --keyring="$keyring" \
		"$release" "$root.unfinished" "$mirror" "/usr/share/debootstrap/scripts/$script" >"$log" 2>&1 || return 1
	prepare_root "$root.unfinished"
	[ -z "$above" ] || echo "deb $mirror $above ${components//,/ }" >>"$root.unfinished/etc/apt/sources.list"
	mv "$root.unfinished" "$root"
}

# copy_tree FOLDER: what git tracks or would track: no objects, no build folder.
copy_tree() {
	local to=$1
	rm -rf "$to"
	mkdir -p "$to"
	git ls-files --cached --others --exclude-standard -z |
		while IFS= read -r -d '' file; do [ ! -e "$file" ] || printf '%s\0' "$file"; done |
		tar -c --null -T - | tar -x --no-same-owner -C "$to"
}

# run_in ROOT COMMAND...: runs the command in the root, with a /proc, a /dev/shm and process numbers of its own.
# run_over LAYER ROOT COMMAND...: the same, but what it writes goes to the folder LAYER; the root stays as it is.
run_in() { run_over '' "$@"; }
run_over() {
	local layer=$1 root=$2
	shift
	cp /etc/resolv.conf "$root/etc/resolv.conf"
	[ -z "$layer" ] || mkdir -p "$layer/upper" "$layer/work" "$layer/root"
	unshare --pid --fork --kill-child --mount bash -c '
		layer=$1 root=$2; shift 2
		if [ -n "$layer" ]; then
			mount -t overlay -o "lowerdir=$root,upperdir=$layer/upper,workdir=$layer/work" overlay "$layer/root"
			root=$layer/root
		fi
		mount -t proc proc "$root/proc"
		mkdir -p "$root/dev/shm"
		mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
		exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 \
			chroot "$root" "$@"' _ "$layer" "$@"
}

# boot_over LAYER ROOT: boots what run_over left in the layer with systemd, without a network, until it powers itself off.
boot_over() {
	unshare --mount bash -c '
		layer=$1 root=$2
		mount -t overlay -o "lowerdir=$root,upperdir=$layer/upper,workdir=$layer/work" overlay "$layer/root"
		alone=; [ -d /run/systemd/system ] || alone=--keep-unit # no systemd on this machine, which would make it a scope
		timeout 600 systemd-nspawn --quiet --register=no $alone --private-network -D "$layer/root" /lib/systemd/systemd' _ "$@"
}

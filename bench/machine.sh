# What was measured, on what: a list in Markdown. Needs PG_CONFIG and cluster_settings (cluster.sh).

describe_machine() {
	local memory version
	memory=$(awk '/^MemTotal/ { printf "%.0f GB", $2 / 1048576 }' /proc/meminfo)
	version=$(git -C "$top" describe --always --dirty 2>/dev/null || sed -nE "s/^default_version = '(.*)'/\1/p" "$top/dp_counter.control")
	cat <<-TEXT
		- $(LC_ALL=C lscpu | sed -nE 's/^Model name: *//p' | head -n 1), $(nproc) processors, $memory, $(uname -s -m) $(uname -r)
		- $("$PG_CONFIG" --version), $(${CXX:-g++} --version | head -n 1), libsodium $(dpkg-query -W -f '${Version}' libsodium23 2>/dev/null || echo unknown)
		- dp_counter at $version, $(date -u +%F); load average at the start $(cut -d' ' -f1 /proc/loadavg)
		- settings: $(cluster_settings | paste -sd, | sed 's/,/, /g')
	TEXT
}

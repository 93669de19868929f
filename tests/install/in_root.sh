#!/bin/sh
# Run by tests/install/run as root in a new root of Debian. Each line of its result begins with "root: ".
set -eu
cd /opt/transfer
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 MANPAGER=cat PAGER=cat

# Names and types of all files but those that apt, dpkg and their triggers keep for themselves.
list_files() {
    find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /opt/transfer -o -path /var/lib/apt \
        -o -path /var/lib/dpkg -o -path /var/cache -o -path /var/log -o -path /tmp \) -prune -o -printf '%y %p %l\n' | sort
}

list_files >before
apt-get -qq install --yes --no-install-recommends ./*.deb >log 2>&1 || { cat log; exit 1; }
echo "root: installed $(dpkg-query -W -f '${Package} ${Status}\n' heft libheft0.1 libheft-dev | grep -c 'ok installed')"

for sample in golden/*/*; do
    heft ls "$sample" >out || { echo "root: heft ls $sample: exit $?"; exit 1; }
    [ -s out ] || { echo "root: heft ls $sample prints nothing"; exit 1; }
    echo "root: read $sample"
done
# Without the module for libnettle digest prints a note.
heft digest golden/torch-linear.pt/linear.pt 2>notes >out
[ ! -s notes ] || { sed 's/^/root: /' notes; exit 1; }
man heft | grep -q 'heft-convert(1)' || { echo "root: man heft"; exit 1; }
man 3 libheft | grep -q heft_open || { echo "root: man libheft"; exit 1; }
dpkg --verify heft libheft0.1 libheft-dev

apt-get -qq purge --yes heft libheft0.1 libheft-dev >log 2>&1 || { cat log; exit 1; }
apt-get -qq autoremove --purge --yes >log 2>&1 || { cat log; exit 1; }
list_files >after
diff before after | sed 's/^/root: /'
cmp -s before after && echo "root: done"

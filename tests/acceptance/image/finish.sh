#!/bin/sh
# Hook of mmdebstrap that turns the minimal system into a node: finish.sh ROOT KEYS INDEXER (KEYS: folder of ssh keys, INDEXER: index_repository.py)
set -eu
root=$1 keys=$2 indexer=$3

# Packages that roles install are in a local pool, because the VM has no network.
pool=/opt/pool
mkdir -p "$root$pool"
chroot "$root" apt-get clean
chroot "$root" apt-get install -y -qq --no-install-recommends --download-only nfs-common nfs-kernel-server >/dev/null
mv "$root"/var/cache/apt/archives/*.deb "$root$pool/"
cp "$indexer" "$root$pool/index.py"
chroot "$root" python3 "$pool/index.py" "$pool"
rm -f "$root$pool/index.py" "$root/etc/apt/sources.list" "$root"/etc/apt/sources.list.d/*
echo "deb [trusted=yes] file:$pool ./" > "$root/etc/apt/sources.list.d/pool.list"
chroot "$root" apt-get update -qq
chroot "$root" apt-get install -y -qq --no-install-recommends --download-only nfs-kernel-server >/dev/null

install -d -m 700 "$root/root/.ssh"
install -m 600 "$keys/id.pub" "$root/root/.ssh/authorized_keys"
rm -f "$root"/etc/ssh/ssh_host_*
install -m 600 "$keys/host" "$root/etc/ssh/ssh_host_ed25519_key"
install -m 644 "$keys/host.pub" "$root/etc/ssh/ssh_host_ed25519_key.pub"

echo vm-n01 > "$root/etc/hostname"
printf '127.0.0.1 localhost\n127.0.1.1 vm-n01\n' > "$root/etc/hosts"
echo 'LABEL=root / ext4 defaults,noatime 0 1' > "$root/etc/fstab"
printf '[Match]\nName=en*\n[Network]\nAddress=10.0.2.15/24\nLinkLocalAddressing=no\n' > "$root/etc/systemd/network/10-vm.network"
systemctl --root="$root" enable systemd-networkd ssh >/dev/null 2>&1

# Like after an installation, with a serial console that QEMU can record and without CPU mitigations, which are slow on an emulated CPU.
cat > "$root/etc/default/grub" <<'E'
GRUB_DEFAULT=0
GRUB_TIMEOUT=0
GRUB_RECORDFAIL_TIMEOUT=0
GRUB_DISTRIBUTOR=Debian
GRUB_CMDLINE_LINUX_DEFAULT="quiet"
GRUB_CMDLINE_LINUX="console=ttyS0,115200 mitigations=off"
GRUB_TERMINAL=serial
GRUB_SERIAL_COMMAND="serial --speed=115200"
GRUB_DISABLE_OS_PROBER=true
E
sed -i 's/^MODULES=.*/MODULES=list/' "$root/etc/initramfs-tools/initramfs.conf"
printf 'virtio_pci\nvirtio_blk\next4\ncrc32c_generic\n' > "$root/etc/initramfs-tools/modules"
chroot "$root" update-initramfs -u -k all >/dev/null

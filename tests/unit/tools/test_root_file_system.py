"""Root file systems of diskless nodes, and of nodes that only look like one.

Sources: warewulf/warewulf overlays/wwinit/rootfs/init (WWROOT: initramfs, or `mount wwroot /newroot -t tmpfs -o mpol=interleave`) and its dracut module;
xcat2/confluent, profile of diskless images (`mount -t tmpfs memroot`; `mount -t overlay ... overlayroot`); /proc/mounts of a LiveOS in the tests of
rhinstaller/anaconda; of SLES 11 in those of gosigar, which lists the kernel's first root before the real one.
"""

from __future__ import annotations

import pytest

from clusterctl_tools.root_file_system import volatile_type

RUN = "tmpfs /run tmpfs rw,nosuid,nodev,size=401324k,nr_inodes=819200,mode=755 0 0"
UPPER = "overlayroot / overlay rw,relatime,lowerdir=/mnt/remote,upperdir=/mnt/overlay/upper,workdir=/mnt/overlay/work,index=off 0 0"
LIVE = "LiveOS_rootfs / overlay rw,seclabel,relatime,lowerdir=/run/rootfsbase,upperdir=/run/overlayfs,workdir=/run/ovlwork,uuid=on 0 0"
PODMAN = (
    "overlay / overlay rw,relatime,lowerdir=/var/lib/containers/storage/overlay/l/A,upperdir=/var/lib/containers/storage/overlay/b/diff 0 0"
)


@pytest.mark.parametrize(
    ("mounts", "kind"),
    [
        ("rootfs / rootfs rw,size=1056508k,nr_inodes=264127 0 0", "rootfs"),
        ("wwroot / tmpfs rw,relatime,mpol=interleave:0-1 0 0", "tmpfs"),
        ("memroot / tmpfs rw,relatime 0 0", "tmpfs"),
        (LIVE, "overlay"),
        (UPPER + "\noverlay /mnt/overlay tmpfs rw,relatime 0 0", "overlay"),
        (UPPER + "\n/dev/zram0 /mnt/overlay xfs rw,relatime 0 0", "overlay"),
        (UPPER + "\n/dev/nvme0n1p2 /mnt/overlay xfs rw,relatime 0 0", ""),
        (UPPER, ""),
        (UPPER + "\noverlay /mnt/over tmpfs rw,relatime 0 0", ""),
        (PODMAN, ""),
        ("rootfs / rootfs rw 0 0\nudev /dev tmpfs rw 0 0\n/dev/vda2 / ext3 rw,relatime,errors=continue 0 0", ""),
        ("/dev/nvme0n1p2 / ext4 rw,relatime 0 0", ""),
        ("server:/images/node / nfs4 ro,relatime,vers=4.2 0 0", ""),
        ("", ""),
        ("damaged", ""),
    ],
)
def test_only_a_root_in_memory_is_not_kept(mounts: str, kind: str) -> None:
    assert volatile_type(f"{mounts}\n{RUN}") == kind

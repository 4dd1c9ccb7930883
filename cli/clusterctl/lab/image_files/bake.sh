#!/bin/sh
# Runs once in the image: turns a minimal Debian system into a lab node.
set -eu
lab=/opt/clusterctl-lab

# Units that would reach the host's kernel, or that a container cannot run.
systemctl mask --quiet sys-kernel-debug.mount sys-kernel-tracing.mount sys-kernel-config.mount sys-fs-fuse-connections.mount \
  proc-sys-fs-binfmt_misc.automount proc-sys-fs-binfmt_misc.mount systemd-modules-load.service systemd-udevd.service \
  apt-daily.timer apt-daily-upgrade.timer console-getty.service getty@tty1.service

# A container's hard limits cannot be raised everywhere: a failing limit must not end a login.
sed -i 's/^\(session *\)required\( *pam_limits.so\)/\1optional\2/' /etc/pam.d/sshd
rm -f /etc/ssh/ssh_host_*
printf 'PermitRootLogin prohibit-password\nPasswordAuthentication no\nUseDNS no\n' >/etc/ssh/sshd_config.d/clusterctl-lab.conf

python3 -m compileall -q "$lab/simulator"

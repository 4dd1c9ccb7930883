#!/bin/sh
# Runs once during the image build: turns a minimal Debian system into a lab node.
set -eu
lab=/opt/clusterctl-lab
files=$lab/image_files

# Units that would change the host's kernel, or that a container cannot run.
systemctl mask --quiet sys-kernel-debug.mount sys-kernel-tracing.mount sys-kernel-config.mount sys-fs-fuse-connections.mount \
  proc-sys-fs-binfmt_misc.automount proc-sys-fs-binfmt_misc.mount systemd-modules-load.service systemd-udevd.service \
  apt-daily.timer apt-daily-upgrade.timer systemd-ask-password-console.path systemd-ask-password-wall.path console-getty.service getty@tty1.service

# systemd runs every generator for each reload of its units, and roles reload often: those that look for what a container lacks are masked.
mkdir -p /etc/systemd/system-generators
for name in cryptsetup debug getty gpt-auto hibernate-resume integritysetup rc-local run system-update veritysetup; do
  ln -s /dev/null "/etc/systemd/system-generators/systemd-$name-generator"
done

# Not every host lets a container raise its hard limits: a limit that cannot be set must not end a login.
sed -i 's/^\(session *\)required\( *pam_limits.so\)/\1optional\2/' /etc/pam.d/sshd
rm -f /etc/ssh/ssh_host_*
printf 'PermitRootLogin prohibit-password\nPasswordAuthentication no\nUseDNS no\n' >/etc/ssh/sshd_config.d/clusterctl-lab.conf

# The clock belongs to the host: chronyd measures it, but does not set it.
mkdir -p /etc/systemd/system/chrony.service.d
printf '[Unit]\nConditionCapability=\n[Service]\nExecStart=\nExecStart=!/usr/sbin/chronyd -x $DAEMON_OPTS\n' \
  >/etc/systemd/system/chrony.service.d/clusterctl-lab.conf

# Replace the programs that would show or change the host's kernel.
for name in dmesg devlink modprobe modinfo lsmod; do
  path=$(command -v "$name")
  module=module_tools
  case $name in dmesg|devlink) module=$name ;; esac
  rm -f "$path"
  printf '#!/usr/bin/python3 -IS\nimport sys\nsys.path.insert(0, "%s")\nfrom simulator.%s import main\nsys.exit(main(sys.argv))\n' "$lab" "$module" >"$path"
  chmod 755 "$path"
done

# An installed kernel runs by name only: the container shares the host's.
mv /usr/bin/uname /usr/bin/uname.real
printf '#!/usr/bin/python3 -IS\nimport sys\nsys.path.insert(0, "%s")\nfrom simulator.uname import main\nsys.exit(main(sys.argv))\n' "$lab" >/usr/bin/uname.lab
# Every login runs it, so that Python starts only where another kernel has a name.
printf '#!/bin/sh\n[ -s /run/clusterctl-lab/kernel-release ] && exec /usr/bin/uname.lab "$@"\nexec /usr/bin/uname.real "$@"\n' >/usr/bin/uname
chmod 755 /usr/bin/uname /usr/bin/uname.lab
cp "$lab/simulator/python_uname.py" "$(python3 -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')/sitecustomize.py"

mkdir -p /etc/default/grub.d
printf 'GRUB_DEFAULT=0\nGRUB_TIMEOUT=5\nGRUB_DISTRIBUTOR=Debian\nGRUB_CMDLINE_LINUX_DEFAULT="quiet"\nGRUB_CMDLINE_LINUX=""\n' >/etc/default/grub
printf 'clusterctl lab: the hardware of this node is simulated.\n' >/etc/motd

python3 -m compileall -q "$lab/simulator"
python3 "$files/index_repository.py" "$lab/pool"
# The lab's profiles use these paths; apt warns about a path that is listed twice.
for name in cuda doca; do ln -s "mirror/$name" "$lab/$name"; done
ln -s mirror/cuda "$lab/nvidia"
rm -f /etc/apt/sources.list /etc/apt/sources.list.d/*
for name in mirror/ubuntu mirror/cuda mirror/doca mirror/site pool; do
  printf 'deb [trusted=yes] file://%s/%s ./\n' "$lab" "$name"
done >/etc/apt/sources.list.d/clusterctl-lab.list
apt-get update -qq
(cd "$lab/mirror" && xargs -d '\n' dpkg --install --force-depends <installed >/dev/null && rm installed)
# Every installed package has its dependencies: apt would not install anything else.
apt-get check -qq

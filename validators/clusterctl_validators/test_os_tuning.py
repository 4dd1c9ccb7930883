"""Operating system tuning: kernel settings, CPU and memory policy, limits, services, time, firewall."""

import re
from typing import Any, Dict, List, Set, Tuple

from clusterctl_tools import apt, firewall_cmd
from clusterctl_tools.systemctl import parse_properties, show_argv
from clusterctl_validators import chrony, cpu_policy, iptables_files, limits, os_left_behind
from clusterctl_validators.probe import Probe, ProbeError, Unit
from clusterctl_validators.record import Record
from clusterctl_validators.spec_view import SpecView
from clusterctl_validators.sysctl_files import dotted, plain, proc_path, restored_at_boot

ROLE = "os_tuning"
LEFT_BY_ROLE = ("os_tuning.*.persisted*",)
# chronyc creates a socket there for the answers.
WRITABLE = ("/run/chrony",)
APPLY = "apply the role os_tuning"
POLICY_UNIT = "clusterctl-os-tuning.service"
# Its processes while it runs, in either version of control groups: RHEL enables it, and its default zone public lets in SSH, cockpit and DHCPv6 only.
FIREWALLD = tuple("/sys/fs/cgroup/{}system.slice/firewalld.service/cgroup.procs".format(version) for version in ("", "systemd/"))
UFW_CONF = "/etc/ufw/ufw.conf"
FIREWALLS = ("ufw.service", "firewalld.service", "nftables.service")
UPGRADERS = (
    *("unattended-upgrades.service", "apt-daily.timer", "apt-daily-upgrade.timer"),
    *("dnf-automatic.timer", "dnf-automatic-install.timer", "dnf-automatic-download.timer", "packagekit.service"),
)


def test_sysctl(spec: SpecView, probe: Probe, record: Record) -> None:
    declared: Dict[str, Any] = spec["os_tuning_sysctl"]
    if not declared:
        record.not_applicable("os_tuning.sysctl", "no kernel setting is declared")
        return
    restored = restored_at_boot(probe)
    for key, value in declared.items():
        check = "os_tuning.sysctl[{}]".format(key)
        found = probe.read(proc_path(key))
        if found is None:
            record.ok(check + ".running", False, expected=plain(value), found="(no such setting)", hint="load the module that provides it")
        else:
            record.equal(check + ".running", plain(value), plain(found), hint=APPLY)
        at_boot, file = restored.get(dotted(key), ("(not set)", ""))
        same = at_boot == plain(value)
        shown = at_boot if same or not file else "{} in {}".format(at_boot, file)
        record.ok(check + ".persisted", same, expected=plain(value), found=shown, hint=_winning_file(file))


def _winning_file(path: str) -> str:
    """The role takes the setting out of later files in /etc; one elsewhere belongs to a package, and is hidden by a file of its name there."""
    if not path or path.startswith("/etc/"):
        return APPLY
    return "an empty /etc/sysctl.d/{} hides the file of the package (sysctl.d(5))".format(path.rpartition("/")[2])


def test_huge_page_policy(spec: SpecView, probe: Probe, record: Record) -> None:
    for name, value in (("enabled", spec["os_tuning_thp_enabled"]), ("defrag", spec["os_tuning_thp_defrag"])):
        check = "os_tuning.thp_{}".format(name)
        if value:
            found = probe.read("/sys/kernel/mm/transparent_hugepage/" + name)
            record.equal(check + ".running", value, cpu_policy.chosen(found) if found is not None else None, hint=APPLY)
            _persisted(probe, record, check, "thp_" + name, value)
        else:
            record.not_applicable(check, "not managed")


def test_min_free(spec: SpecView, probe: Probe, record: Record) -> None:
    least = int(spec["os_tuning_min_free_kib"])
    if least:
        found = (probe.read(proc_path("vm.min_free_kbytes")) or "").strip()
        enough = found.isdigit() and int(found) >= least
        record.ok("os_tuning.min_free_kib.running", enough, expected=">= {}".format(least), found=found or "(no such setting)", hint=APPLY)
        _persisted(probe, record, "os_tuning.min_free_kib", "min_free_kib", least)
    else:
        record.not_applicable("os_tuning.min_free_kib", "not managed")


def test_governor(spec: SpecView, probe: Probe, record: Record) -> None:
    governor = spec["os_tuning_governor"]
    if governor:
        hint = "no cpufreq: enable OS control of P-states in the BIOS, or declare os_tuning_cpu_power_by_firmware; else " + APPLY
        if spec["os_tuning_cpu_power_by_firmware"] and not cpu_policy.has_governors(probe):
            record.not_applicable("os_tuning.governor.running", "no cpufreq: the BIOS owns the P-states, see the checks of the role bios")
        else:
            record.equal("os_tuning.governor.running", governor, cpu_policy.governors(probe), hint=hint)
        _persisted(probe, record, "os_tuning.governor", "governor", governor)
    else:
        record.not_applicable("os_tuning.governor", "not managed")


def test_energy_bias(spec: SpecView, probe: Probe, record: Record) -> None:
    bias = spec["os_tuning_energy_perf_bias"]
    if bias:
        if cpu_policy.has_energy_bias(probe):
            record.equal("os_tuning.energy_perf_bias.running", bias, cpu_policy.energy_biases(probe), hint=APPLY)
        else:
            record.not_applicable("os_tuning.energy_perf_bias.running", "the processor, or its BIOS, gives the kernel no such hint")
        _persisted(probe, record, "os_tuning.energy_perf_bias", "energy_perf_bias", cpu_policy.BIASES[bias])
    else:
        record.not_applicable("os_tuning.energy_perf_bias", "not managed")


def test_idle_states(spec: SpecView, probe: Probe, record: Record) -> None:
    latency = int(spec["os_tuning_idle_latency_max_us"])
    if latency >= 0:
        if cpu_policy.only_waits(probe):
            record.not_applicable(
                "os_tuning.idle_latency_max_us.running", "no cpuidle: this Arm processor only stops its clock while it waits"
            )
        elif spec["os_tuning_cpu_power_by_firmware"] and not cpu_policy.has_idle_states(probe):
            record.not_applicable(
                "os_tuning.idle_latency_max_us.running", "no cpuidle: the BIOS owns the C-states, see the checks of the role bios"
            )
        else:
            found = cpu_policy.idle_states(probe, latency)
            record.equal("os_tuning.idle_latency_max_us.running", cpu_policy.as_declared(latency), found, hint=APPLY)
        _persisted(probe, record, "os_tuning.idle_latency_max_us", "idle_latency_max_us", latency)
    else:
        record.not_applicable("os_tuning.idle_latency_max_us", "not managed")


def test_left_behind(spec: SpecView, probe: Probe, record: Record) -> None:
    """What no role sets. The frequency counts where full speed is declared."""
    rows = os_left_behind.LEFTOVERS + ((os_left_behind.FULL_SPEED,) if spec["os_tuning_governor"] == "performance" else ())
    for one in rows:
        os_left_behind.judge_leftover(record, probe, one)


def test_owner_of_cpu_power(spec: SpecView, probe: Probe, record: Record) -> None:
    """The service must apply it at boot: where the BIOS owns the states, their absence is not a failure of the service."""
    if spec["os_tuning_governor"] or int(spec["os_tuning_idle_latency_max_us"]) >= 0:
        _persisted(probe, record, "os_tuning.cpu_power_by_firmware", "cpu_power_by_firmware", int(spec["os_tuning_cpu_power_by_firmware"]))
    else:
        record.not_applicable("os_tuning.cpu_power_by_firmware", "neither governor nor idle states are declared")


def test_tuned(spec: SpecView, probe: Probe, record: Record) -> None:
    profile = spec["os_tuning_tuned_profile"]
    if not profile:
        record.not_applicable("os_tuning.tuned_profile", "not managed")
        return
    unit = probe.units(["tuned.service"])["tuned.service"]
    verified = probe.run(["tuned-adm", "verify", "--ignore-missing"])
    if verified.error:
        record.could_not_run("os_tuning.tuned_profile.running", verified.error)
    else:
        good = unit.active and verified.rc == 0
        found = "{}, {}".format(unit.active_state, "verified" if verified.rc == 0 else "verification failed")
        record.ok("os_tuning.tuned_profile.running", good, expected="active, verified", found=found, hint="check /var/log/tuned/tuned.log")
    found = "{}, {}".format(probe.read("/etc/tuned/active_profile") or "(none)", unit.file_state or unit.load_state)
    record.equal("os_tuning.tuned_profile.persisted", profile + ", enabled", found, hint=APPLY)


def test_swap(spec: SpecView, probe: Probe, record: Record) -> None:
    if not spec["os_tuning_swap_off"]:
        record.not_applicable("os_tuning.swap", "not managed")
        return
    swaps = probe.read("/proc/swaps")
    if swaps is None:
        record.could_not_run("os_tuning.swap.running", "/proc/swaps is absent")
    else:
        on = [line.split()[0] for line in swaps.splitlines()[1:]]
        record.equal("os_tuning.swap.running", "off", ", ".join(on) or "off", hint=APPLY)
    fstab = [line.split() for line in (probe.read("/etc/fstab") or "").splitlines()]
    found = [words[0] for words in fstab if len(words) > 2 and words[2] == "swap" and not words[0].startswith("#")]
    target = probe.units(["swap.target"])["swap.target"].file_state
    found += [] if target == "masked" else ["swap.target is {}".format(target or "not masked")]
    record.equal("os_tuning.swap.persisted", "off", ", ".join(found) or "off", hint=APPLY)


def test_irqbalance(spec: SpecView, probe: Probe, record: Record) -> None:
    policy, args = spec["os_tuning_irqbalance"], spec["os_tuning_irqbalance_args"]
    if policy == "disabled":
        _off(record, "os_tuning.irqbalance", probe.units(["irqbalance.service"])["irqbalance.service"])
    elif policy == "enabled":
        _on(record, "os_tuning.irqbalance", probe.units(["irqbalance.service"])["irqbalance.service"])
        running = probe.run(["pgrep", "-a", "-x", "irqbalance"]).stdout
        missing = [a for a in args.split() if a not in running.split()]
        found = "missing: " + " ".join(missing) if missing else args
        record.equal("os_tuning.irqbalance_args.running", args, found, hint="restart irqbalance")
        drop_in = probe.read("/etc/systemd/system/irqbalance.service.d/90-clusterctl.conf") or ""
        written = 'IRQBALANCE_ARGS={}"'.format(args) in drop_in
        record.ok("os_tuning.irqbalance_args.persisted", written, expected=args, found=drop_in.rpartition("\n")[2], hint=APPLY)
    else:
        record.not_applicable("os_tuning.irqbalance", "not managed")


def test_services(spec: SpecView, probe: Probe, record: Record) -> None:
    on, off, masked = spec["os_tuning_services_enabled"], spec["os_tuning_services_disabled"], spec["os_tuning_services_masked"]
    units = probe.units(sorted({*on, *off, *masked}))
    if not units:
        record.not_applicable("os_tuning.services", "no service is declared")
    for name in on:
        _on(record, "os_tuning.services[{}]".format(name), units[name])
    for name in off:
        _off(record, "os_tuning.services[{}]".format(name), units[name])
    for name in masked:
        _masked(record, "os_tuning.services[{}]".format(name), units[name])


def test_firewall(spec: SpecView, probe: Probe, record: Record) -> None:
    if not spec["os_tuning_firewall_off"]:
        if any(probe.read(path) for path in FIREWALLD):
            _firewalld(spec, probe, record)
        else:
            _other_firewall(probe, record)
        return
    for name, unit in probe.units(FIREWALLS).items():
        _masked(record, "os_tuning.firewall[{}]".format(name), unit)
    path = iptables_files.rejecting(probe)
    if path:
        found = "{} rejects what it does not list".format(path)
        hint = "remove that rule from the file, and the running one (`iptables -S INPUT`, `iptables -D INPUT ...`): the role does not change rules of others"
        record.warn("os_tuning.firewall[iptables]", expected="no rules that reject", found=found, hint=hint)


def test_auto_upgrades(spec: SpecView, probe: Probe, record: Record) -> None:
    if not spec["os_tuning_auto_upgrades_off"]:
        record.not_applicable("os_tuning.auto_upgrades", "not managed")
        return
    for name, unit in probe.units(UPGRADERS).items():
        if unit.load_state != "not-found":
            _masked(record, "os_tuning.auto_upgrades[{}]".format(name), unit)
    periodic = probe.run(apt.PERIODIC)
    if periodic.error:
        record.not_applicable("os_tuning.auto_upgrades.periodic", "this node has no APT")
        return
    settings = apt.parse_settings(periodic.stdout)
    switches = {n: settings[n] for n in ("APT::Periodic::Enable", "APT::Periodic::Unattended-Upgrade") if n in settings}
    on = ["{} {}".format(name, value) for name, value in switches.items() if value != "0"]
    found = "; ".join(on) if on else "off" if len(switches) == 2 else "not set"
    record.equal("os_tuning.auto_upgrades.periodic", "off", found, hint=APPLY)


def test_login_limits(spec: SpecView, probe: Probe, record: Record) -> None:
    declared: List[Dict[str, Any]] = spec["os_tuning_limits"]
    if not declared:
        record.not_applicable("os_tuning.limits", "no limit is declared")
        return
    files = limits.pam_limits(probe)
    for limit in declared:
        domain, item = limit["domain"], limit["item"]
        for kind in limits.kinds(limit["type"]):
            check = "os_tuning.limits[{} {} {}]".format(domain, kind, item)
            found = files.get((domain, kind, item), "(not set)")
            record.equal(check + ".persisted", limits.unlimited(limit["value"]), found, hint=APPLY)
            _login_limit(probe, record, check + ".running", (domain, kind, item), limit["value"])


def _login_limit(probe: Probe, record: Record, check: str, key: Tuple[str, str, str], value: Any) -> None:
    domain, kind, item = key
    if domain.startswith(("@", "%")) or item not in limits.PROC_ROWS:
        record.not_applicable(check, "no login available for a test")
        return
    user = "nobody" if domain == "*" else domain
    session = probe.run(["su", "-s", "/bin/sh", "-c", "cat /proc/self/limits", user])
    row = limits.parse_proc_limits(session.stdout).get(limits.PROC_ROWS[item][0])
    if session.error or session.rc != 0 or row is None:
        record.could_not_run(check, "no session as {}: {}".format(user, session.error or session.stderr.strip() or "no limits shown"))
        return
    expected = limits.proc_value(item, value, (probe.read(proc_path("fs.nr_open")) or "").strip())
    record.equal(check, expected, row[0] if kind == "soft" else row[1], hint="check that pam_limits is in /etc/pam.d")


def test_service_limits(spec: SpecView, probe: Probe, record: Record) -> None:
    declared: Dict[str, Any] = spec["os_tuning_systemd_limits"]
    if not declared:
        record.not_applicable("os_tuning.systemd_limits", "no limit is declared")
        return
    shown = probe.run(show_argv(["DefaultLimit" + name + kind for name in declared for kind in ("", "Soft")]))
    if shown.error or shown.rc != 0:
        raise ProbeError("systemctl show: " + (shown.error or shown.stderr.strip()))
    running = parse_properties(shown.stdout)
    persisted = {kind: limits.manager_settings(probe, kind) for kind in ("system", "user")}
    for name, value in declared.items():
        check, setting = "os_tuning.systemd_limits[{}]".format(name), "DefaultLimit" + name
        soft_hard = "{}:{}".format(running.get(setting + "Soft", ""), running.get(setting, ""))
        record.equal(check + ".running", ":".join(limits.systemd_value(value)), soft_hard, hint="systemctl daemon-reexec")
        for kind, settings in persisted.items():
            record.equal("{}.persisted_{}".format(check, kind), str(value), settings.get(setting, "(not set)"), hint=APPLY)


def _firewalld(spec: SpecView, probe: Probe, record: Record) -> None:
    """Every declared interface and network is in the zone trusted, now and at boot."""
    trusted = list(spec["os_tuning_firewall_trusted"])
    if not trusted:
        hint = "put networks and rails of the nodes into its zone trusted (os_tuning_firewall_trusted), or declare os_tuning_firewall_off"
        found = "firewalld is active, which by default lets only SSH in"
        record.warn("os_tuning.firewall", expected="none between the nodes: burn-in measures pairs and groups", found=found, hint=hint)
        return
    for suffix, permanent in (("running", False), ("persisted", True)):
        listed: List[str] = []
        for what in ("interfaces", "sources"):
            listed += firewall_cmd.entries(probe.output(firewall_cmd.trusted_argv(what, permanent=permanent)))
        for entry in trusted:
            check = "os_tuning.firewall_trusted[{}].{}".format(entry, suffix)
            found = "in the zone trusted" if entry in listed else "not in the zone trusted"
            record.equal(check, "in the zone trusted", found, hint=APPLY)


def _other_firewall(probe: Probe, record: Record) -> None:
    """Rules of ufw, nftables and iptables are the site's own: that they are active is a warning."""
    active = ["ufw"] if re.search(r"^ENABLED=[\"']?yes", probe.read(UFW_CONF) or "", re.MULTILINE) else []
    active += ["nftables"] if probe.units(["nftables.service"])["nftables.service"].active else []
    active += ["iptables"] if iptables_files.rejecting(probe) else []
    if active:
        ways = "`ufw allow from NETWORK`, `nft list ruleset`, `iptables -S INPUT`"
        hint = "let the networks and rails of the nodes through ({}), or declare os_tuning_firewall_off".format(ways)
        found = "{} is active".format(" and ".join(active))
        record.warn("os_tuning.firewall", expected="none between the nodes: burn-in measures pairs and groups", found=found, hint=hint)
    else:
        record.not_applicable("os_tuning.firewall", "not managed, and no firewall runs")


def test_time(spec: SpecView, probe: Probe, record: Record) -> None:
    sources: List[Dict[str, Any]] = spec["os_tuning_time_sources"]
    offset = int(spec["os_tuning_time_offset_max_us"])
    if spec["os_tuning_time_sync"] != "chrony":
        record.not_applicable("os_tuning.time_sync", "not managed")
        return
    units = [u for u in probe.units(["chrony.service", "chronyd.service"]).values() if u.load_state == "loaded"]
    found = "{}, {}".format(
        "active" if any(u.active for u in units) else "not active", "enabled" if any(u.enabled for u in units) else "not enabled"
    )
    record.equal("os_tuning.time_sync", "active, enabled", found, hint=APPLY)
    expected = sorted(" ".join([s.get("kind", "server"), s["address"], s.get("options", "iburst")]).strip() for s in sources)
    record.equal("os_tuning.time_sources.persisted", "; ".join(expected), "; ".join(chrony.configured(probe)), hint=APPLY)
    names: Set[str] = {s["address"] for s in sources}
    record.equal("os_tuning.time_sources.running", ", ".join(sorted(names)), ", ".join(chrony.polled(probe)), hint="restart chrony")
    wait_s = int(spec["os_tuning_time_wait_s"])
    if wait_s:
        # After a boot the first measurements take seconds; with one query, a good node would fail.
        ok, state = chrony.synchronized(probe, wait_s)
        hint = "`chronyc sources` shows which servers answer (UDP port 123)"
        record.ok("os_tuning.time_synchronized", ok, expected="synchronized within {} s".format(wait_s), found=state, hint=hint)
    if offset:
        ok, state = chrony.clock(probe, offset)
        expected_offset = "synchronized, within {} us".format(offset)
        record.ok(
            "os_tuning.time_offset_max_us", ok, expected=expected_offset, found=state, hint="check `chronyc tracking` and `chronyc sources`"
        )


def _persisted(probe: Probe, record: Record, check: str, name: str, value: object) -> None:
    """The role's service restores the value at boot: the service must be enabled and its file must contain the value."""
    unit = probe.units([POLICY_UNIT])[POLICY_UNIT]
    written = cpu_policy.written(probe).get(name, "(not set)")
    found = "{}, service {}".format(written, unit.file_state or unit.load_state)
    record.equal(check + ".persisted", "{}, service enabled".format(value), found, hint=APPLY)


def _on(record: Record, check: str, unit: Unit) -> None:
    record.equal(check + ".running", "active", unit.active_state, hint=APPLY)
    record.equal(check + ".persisted", "enabled", unit.file_state or unit.load_state, hint=APPLY)


def _off(record: Record, check: str, unit: Unit) -> None:
    record.ok(check + ".running", unit.active_state in ("inactive", "failed"), expected="inactive", found=unit.active_state, hint=APPLY)
    found = unit.file_state or unit.load_state
    record.ok(check + ".persisted", not unit.file_state.startswith("enabled"), expected="not enabled", found=found, hint=APPLY)


def _masked(record: Record, check: str, unit: Unit) -> None:
    record.ok(check + ".running", unit.active_state in ("inactive", "failed"), expected="inactive", found=unit.active_state, hint=APPLY)
    record.equal(check + ".persisted", "masked", unit.file_state or unit.load_state, hint=APPLY)

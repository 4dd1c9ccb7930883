"""Key and certificates with which the members of an IMEX domain authenticate each other: modes, validity, and whether they belong together."""

from typing import Dict

from clusterctl_validators.file_mode import read_mode
from clusterctl_validators.finding import Severity
from clusterctl_validators.probe import Probe
from clusterctl_validators.record import Record

FOLDER = "/etc/nvidia-imex/clusterctl-tls"
KEY, CERTIFICATE, AUTHORITY = (FOLDER + "/" + name for name in ("key.pem", "certificate.pem", "authority.pem"))
WARN_DAYS = 30
_DAY_S = 86400
_CHECKEND_ANSWERS = ("Certificate will expire", "Certificate will not expire")
_PROVISION = "renew it on the controller (nvlink_domain_imex_tls), then `clusterctl provision NODE`, which restarts IMEX"


def settings(target_name: str) -> Dict[str, str]:
    """The lines of config.cfg that the role adds."""
    files = {"KEY": KEY, "CERT": CERTIFICATE, "CERT_AUTH": AUTHORITY}
    found = {"IMEX_{}_{}".format(end, part): path for end in ("SERVER", "CLIENT") for part, path in files.items()}
    found.update(IMEX_ENABLE_AUTH_ENCRYPTION="1", IMEX_AUTH_ENCRYPTION_MODE="SSL_TLS", IMEX_AUTH_SOURCE="FILE")
    found["IMEX_SECURITY_TARGET_OVERRIDE"] = target_name
    return found


def check(record: Record, probe: Probe) -> None:
    """Record `nvlink_domain.imex.tls.*`."""
    for name, path, mode in (("key", KEY, "600"), ("certificate", CERTIFICATE, "644"), ("authority", AUTHORITY, "644")):
        found = read_mode(probe, path)
        words = "{0.owner} {0.mode}".format(found) if found else "absent"
        record.equal("nvlink_domain.imex.tls.{}.mode".format(name), "root " + mode, words, severity=Severity.CRITICAL, hint=_PROVISION)
    for name, path in (("certificate", CERTIFICATE), ("authority", AUTHORITY)):
        _validity(record, probe, "nvlink_domain.imex.tls.{}.".format(name), path)
    _pair(record, probe)
    chain = probe.run(["openssl", "verify", "-CAfile", AUTHORITY, CERTIFICATE])
    at = "nvlink_domain.imex.tls.chain"
    if chain.error:
        record.could_not_run(at, chain.error)
        return
    lines = (chain.stdout + chain.stderr).strip().splitlines()
    why = next((line for line in lines if line.startswith("error ")), lines[-1] if lines else "no answer")
    record.ok(at, chain.rc == 0, expected="signed by the authority", found="signed by it" if chain.rc == 0 else why, hint=_PROVISION)


def _validity(record: Record, probe: Probe, at: str, path: str) -> None:
    end = probe.run(["openssl", "x509", "-noout", "-enddate", "-in", path])
    date = end.stdout.strip().rpartition("notAfter=")[2]
    if end.error or end.rc != 0 or not date:
        record.could_not_run(at + "valid", end.error or end.stderr.strip() or "openssl prints no date", Severity.CRITICAL)
        return
    hint = "IMEX cannot connect once it has expired; " + _PROVISION
    for check_id, days, expected, severity in (
        (at + "valid", 0, "not expired", Severity.CRITICAL),
        (at + "renewal", WARN_DAYS, "for at least {} days".format(WARN_DAYS), Severity.MINOR),
    ):
        still = probe.run(["openssl", "x509", "-noout", "-checkend", str(days * _DAY_S), "-in", path])
        if still.error or still.stdout.strip() not in _CHECKEND_ANSWERS:  # it exits 1 for an expired certificate and for one it cannot read
            record.could_not_run(check_id, still.error or still.stderr.strip() or "openssl does not print when it expires", severity)
            continue
        record.ok(check_id, still.rc == 0, expected=expected, found="until " + date, severity=severity, hint=hint)


def _pair(record: Record, probe: Probe) -> None:
    of_certificate = probe.run(["openssl", "x509", "-noout", "-pubkey", "-in", CERTIFICATE])
    of_key = probe.run(["openssl", "pkey", "-pubout", "-in", KEY])
    failed = next((r for r in (of_certificate, of_key) if r.error or r.rc != 0), None)
    if failed:
        record.could_not_run("nvlink_domain.imex.tls.pair", failed.error or failed.stderr.strip() or "openssl failed", Severity.CRITICAL)
        return
    same = of_certificate.stdout.strip() == of_key.stdout.strip()
    found = "the key of the certificate" if same else "the key of another certificate"
    record.equal("nvlink_domain.imex.tls.pair", "the key of the certificate", found, severity=Severity.CRITICAL, hint=_PROVISION)

"""What `make pools` reports: a suite that did not run is not a passed one."""

from __future__ import annotations

from pool_suites.results import read_junit

XML = """<testsuites><testsuite>
<testcase name="a"/><testcase name="b"><skipped message="missing: slurmctld"/></testcase>
<testcase name="c"><failure message="assert 1&#10;more"/></testcase><testcase name="d"><error message="failed on setup"/></testcase>
</testsuite></testsuites>"""


def test_cases_are_counted_and_reasons_kept() -> None:
    suite = read_junit("slurm", XML, 1)
    assert [(c.name, c.outcome, c.reason) for c in suite.cases] == [
        ("a", "passed", ""),
        ("b", "skipped", "missing: slurmctld"),
        ("c", "failed", "assert 1"),
        ("d", "failed", "failed on setup"),
    ]
    assert suite.failed
    assert str(suite) == "slurm: 1 passed, 2 failed, 1 skipped\n  missing: slurmctld"
    assert suite.document()["suite"] == "slurm"


def test_no_result_is_a_failure() -> None:
    assert read_junit("slurm", "", 4).failed
    assert read_junit("slurm", "<testsuites/>", 5).failed
    assert read_junit("slurm", XML.replace("failure", "x").replace("error", "x"), 3).failed
    assert not read_junit("slurm", '<testsuites><testcase name="a"/></testsuites>', 0).failed

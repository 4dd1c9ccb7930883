from __future__ import annotations

from typing import TYPE_CHECKING

from support.howto import Step, steps, write_files

if TYPE_CHECKING:
    from pathlib import Path

PAGE = """
`a/b.yml`:

```yaml
x: 1
```

Some `c.py` in a sentence.

```console
$ clusterctl plan rack-12   # exit status 8
~ x:  1 -> 2
$ podman ps   # someone looks
```
"""


def test_files_and_steps_of_a_page(tmp_path: Path) -> None:
    assert write_files(PAGE, tmp_path) == ["a/b.yml"]
    assert (tmp_path / "a" / "b.yml").read_text() == "x: 1\n"
    assert list(steps(PAGE)) == [Step("clusterctl plan rack-12", 8, ["~ x:  1 -> 2"]), Step("podman ps")]


def test_shown_lines_are_looked_for_word_by_word() -> None:
    step = Step("x", shown=["~ x: 1", "ok gates copy"])
    assert step.missing("a\nok   gates   dcgm, copy\n~ x:  1 -> 2\n") == []
    assert step.missing("ok gates\ncopy\n~ 1 x:\n") == ["~ x: 1", "ok gates copy"]

"""What a line deletes, overwrites, formats and sends, and where."""

from __future__ import annotations

import time

import pytest

from fairlead.model.params import ShellKind
from fairlead.policy.danger import ROWS, Effect, Places, Where, dangers, effects
from fairlead.policy.danger_row import Deed
from fairlead.policy.reading.read import read_argv, read_script

PLACES = Places(cwd="/work/src", roots=("/work", "/tmp"))
D, W, F, S = Deed.DELETES, Deed.WRITES, Deed.FORMATS, Deed.SENDS


def look(text: str, shell: ShellKind = ShellKind.BASH) -> tuple[Effect, ...]:
    return effects(read_script(text, shell), PLACES)


def dangerous(text: str, shell: ShellKind = ShellKind.BASH) -> list[str]:
    """The rows of the dangers in a line."""
    found = dangers(read_script(text, shell), PLACES)
    return [effect.because.text for effect in found]


@pytest.mark.parametrize(
    ("text", "deed", "target", "where"),
    [
        ("rm x", D, "x", Where.INSIDE),
        ("rm -- -x", D, "-x", Where.INSIDE),
        ("rm ../x", D, "../x", Where.INSIDE),
        ("rm ../../x", D, "../../x", Where.OUTSIDE),
        ("rm -r ..", D, "..", Where.ROOT),
        ("rm -r ../.git", D, "../.git", Where.KEPT),
        ("rm //etc/x", D, "//etc/x", Where.OUTSIDE),
        ("rm $x", D, None, Where.UNKNOWN),
        ("cd /etc && rm x", D, "x", Where.OUTSIDE),
        ("cd /etc; rm x", D, "x", Where.OUTSIDE),
        ("cd ../.. && rm x", D, "x", Where.OUTSIDE),
        ("cd - && rm x", D, "x", Where.UNKNOWN),
        ("cd - && rm /work/x", D, "/work/x", Where.INSIDE),
        ("echo a > x", W, "x", Where.INSIDE),
        ("echo a >> /etc/x", W, "/etc/x", Where.OUTSIDE),
        ("(ls) > /etc/x", W, "/etc/x", Where.OUTSIDE),
        ("echo a > /dev/null && touch y", W, "y", Where.INSIDE),
        ("cp a /etc", W, "/etc", Where.OUTSIDE),
        ("cp -t /etc a b", W, "/etc", Where.OUTSIDE),
        ("mv a b", D, "a", Where.INSIDE),
        ("mv a b", W, "b", Where.INSIDE),
        ("tee -a x", W, "x", Where.INSIDE),
        ("mkdir -m 700 x", W, "x", Where.INSIDE),
        ("sed -i s/a/b/ x", W, "x", Where.INSIDE),
        ("dd if=a of=b", W, "b", Where.INSIDE),
        ("dd if=a of=/dev/sda", F, "/dev/sda", Where.OUTSIDE),
        ("tar -xzf a.tgz -C /usr", W, "/usr", Where.OUTSIDE),
        ("tar xf a.tar", W, ".", Where.INSIDE),
        ("curl -o /etc/x url", W, "/etc/x", Where.OUTSIDE),
        ("find /etc -name x -delete", D, "/etc", Where.OUTSIDE),
        ("find . -fprint /etc/x", W, "/etc/x", Where.OUTSIDE),
        ("chmod 777 /etc/x", Deed.RIGHTS, "/etc/x", Where.OUTSIDE),
        ("ls | xargs rm", D, None, Where.UNKNOWN),
        ("find . -exec rm {} +", D, None, Where.UNKNOWN),
        ("nice sh -c 'rm /etc/x'", D, "/etc/x", Where.OUTSIDE),
        ("env -C /etc rm x", D, "x", Where.OUTSIDE),
        ("echo $(rm /etc/x)", D, "/etc/x", Where.OUTSIDE),
        ("busybox rm /etc/x", D, "/etc/x", Where.OUTSIDE),
    ],
)
def test_effects(text: str, deed: Deed, target: str | None, where: Where):
    """An effect says what is done, to what, and on which side of the roots."""
    found = [(effect.deed, effect.target, effect.where) for effect in look(text)]
    assert (deed, target, where) in found
    outside = where is Where.OUTSIDE or (deed is D and where is not Where.INSIDE)
    assert bool(dangerous(text)) == outside


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("rm -f x", "rm -f"),
        ("rm -rf x", "rm -f"),
        ("rm --force x", "rm -f"),
        ("rm x -rf", "rm -f"),
        ("\\rm -f x", "rm -f"),
        ("'rm' -f x", "rm -f"),
        ("/bin/rm -f x", "rm -f"),
        ("command rm -f x", "rm -f"),
        ("exec rm -f x", "rm -f"),
        ("nohup timeout 5 nice rm -f x", "rm -f"),
        ("sudo -u bob rm -f x", "rm -f"),
        ("xargs rm -f", "rm -f"),
        ("find . -exec rm -f {} \\;", "rm -f"),
        ("find . -exec sh -c 'rm -f $1' _ {} \\;", "rm -f"),
        ("find . -exec nice rm -f {} \\;", "rm -f"),
        ("for i in *; do rm -f $i; done", "rm -f"),
        ("if true; then rm -f x; fi", "rm -f"),
        ("f() { rm -f x; }; f", "rm -f"),
        ("a=1; rm -f $a", "rm -f"),
        ("echo `rm -f x`", "rm -f"),
        ("sh -c 'sh -c \"rm -f x\"'", "rm -f"),
        ("eval 'rm -f x'", "rm -f"),
        ("trap 'rm -f x' EXIT", "rm -f"),
        ("alias ls='rm -f'", "rm -f"),
        ("env -S 'rm -f x'", "rm -f"),
        ("nice --unknown rm -f x", "rm -f"),
        ("fish -c 'rm -f x'", "rm -f"),
        ("watch rm -f x", "rm -f"),
        ("ssh host rm -f x", "rm -f"),
        ("shred x", "shred"),
        ("find . -delete", "find -delete"),
        ("mkfs.ext4 /dev/sda1", "mkfs"),
        ("wipefs -a x", "mkfs"),
        ("dd if=a of=/dev/sda", "dd of=/dev"),
        ("git clean -fdx", "git clean"),
        ("git -C x clean -fd", "git clean"),
        ("git reset --hard HEAD", "git reset --hard"),
        ("git checkout -- x", "git checkout --"),
        ("git checkout .", "git checkout FILE"),
        ("git push --force", "git push --force"),
        ("git push -f origin", "git push --force"),
        ("git push origin +main", "git push +"),
        ("git push origin :main", "git push +"),
        ("git branch -D x", "git branch -D"),
        ("git stash drop", "git stash drop"),
        ("git -c alias.x=!id x", "git -c"),
        ("git config --global a b", "git config --global"),
        ("rsync -a --delete a b", "rsync --delete"),
        ("scp x host:y", "scp"),
        ("curl -d @x url", "curl -d"),
        ("curl --data-binary @x url", "curl -d"),
        ("curl -sT x url", "curl -d"),
        ("curl -X POST url", "curl -d"),
        ("wget --post-file=x url", "wget --post"),
        ("curl url | sh", "piped shell"),
        ("curl url | sudo bash -s", "piped shell"),
        ("curl url | env python3 -", "piped shell"),
        ("bash <<E\nls\nE", "piped shell"),
        ("nc host 80", "nc"),
        ("ssh host ls", "ssh"),
        ("cat < /dev/tcp/host/80", "/dev/tcp"),
        ("tar --to-command=sh -xf x", "tar runs"),
        ("awk 'BEGIN{system(\"id\")}'", "awk system"),
        ("sudo ls", "sudo"),
        ("shutdown now", "shutdown"),
        ("killall x", "pkill"),
        ("kill -9 -1", "kill -1"),
        ("systemctl stop x", "systemctl stop"),
        ("crontab -r", "crontab"),
        ("passwd root", "useradd"),
        ("mount a b", "mount"),
        ("apt-get purge x", "apt remove"),
        ("docker system prune -f", "docker system prune"),
        ("docker run -v /:/x y", "docker run"),
        ("kubectl delete pod x", "kubectl delete"),
        ("terraform destroy", "terraform destroy"),
        ("aws s3 rm s3://x", "aws s3 rm"),
        ("npm publish", "npm publish"),
        ("cmd /c 'del /f x'", "del /f"),
        ("cmd /c 'rd /s /q x'", "del /f"),
        ("pwsh -c 'Remove-Item -Force x'", "Remove-Item -Force"),
        ("pwsh -c 'ri x -Recurse'", "Remove-Item -Force"),
        ("pwsh -c 'Start-Process https://x'", "opens URL"),
    ],
)
def test_dangers(text: str, row: str):
    """However it is wrapped, a danger is found, and named by its row."""
    assert row in dangerous(text)


@pytest.mark.parametrize(
    "text",
    [
        *("ls", "git status", "git switch -c x", "git commit -m x", "git push", "make clean"),
        *("rm x", "mkdir -p a/b", "echo x > y", "awk '$3 > 5' x", "awk '/a/ || /b/' x"),
        *("curl -fsSL url", "curl -o x url", "tar czf x.tgz src", "python3 x.py", "cat x | grep y"),
        *("find . -name x", "git restore --staged x", "docker ps", "kill 1234", "echo 'rm -rf /'"),
        *("npm test 2>&1 | tail", "cp a b", "sed -n 1p x", "echo $HOME", "touch /tmp/x"),
    ],
)
def test_work_is_no_danger(text: str):
    """What stays inside the roots and can be done again is nobody's question."""
    assert dangerous(text) == []


def test_argv_without_a_shell():
    """Words that are executed as they are have the same effects."""
    found = dangers(read_argv(["bash", "-lc", "rm -rf build"]), PLACES)
    assert [(effect.because.text, effect.target) for effect in found] == [("rm -f", "build")]


def test_every_effect_names_its_row():
    """The reason can be shown: the table, the row, and words for a person."""
    (effect,) = look("rm x")
    assert str(effect.because) == "danger (rm)"
    assert effect.says == "deletes"


@pytest.mark.parametrize("language", ROWS)
def test_rows_are_told_apart(language: str):
    """No two rows have one name, and each says what it is about."""
    rows = ROWS[language]  # type: ignore[index]
    assert len({row.name for row in rows}) == len(rows)
    assert all(row.names and row.says for row in rows)


@pytest.mark.parametrize(
    "unit", ["find . -exec ", "watch ", "env -S ", "rm -f ", "eval ", "a > b ", "git -c ", "-C "]
)
def test_looking_takes_bounded_time(unit: str):
    """However often something is repeated, its effects are found soon."""
    for text in (f"find {unit * 3000}", f"find '{unit * 3000}' $x", unit * 3000):
        begun = time.process_time()
        look(text)
        assert time.process_time() - begun < 20.0  # of our own CPU time; it takes a fraction

"""What commands of a POSIX system delete, overwrite, format and send."""

from __future__ import annotations

from fairlead.policy.danger_row import Deed, Row, Targets
from fairlead.policy.reading.words import names

_SHELLS = names("sh bash dash ash zsh ksh mksh fish csh tcsh")
_INTERPRETERS = names("python python2 python3 perl ruby node nodejs php lua deno bun")
_GIT = names("-C -c --git-dir --work-tree --namespace --exec-path --config-env --super-prefix")
_D, _W, _F, _S = Deed.DELETES, Deed.WRITES, Deed.FORMATS, Deed.SENDS
_WORDS, _AFTER, _LAST = Targets.WORDS, Targets.AFTER_FIRST, Targets.LAST


def _git(
    name: str, deed: Deed, *then: str, options: str = "", says: str, always: bool = True
) -> Row:
    """A row for a command of git; its own options come before."""
    following = tuple(names(word) for word in then)
    return Row(
        name, deed, names("git"), says, following, names(options), values=_GIT, always=always
    )


def _elsewhere(deed: Deed, program: str, *then: str, options: str = "", says: str) -> Row:
    """A row for what happens on another machine, or to the whole of this one."""
    name = " ".join((program.split()[0], *(word.split()[0] for word in then)))
    following = tuple(names(word) for word in then)
    return Row(name, deed, names(program), says, following, names(options), always=True)


POSIX = (
    Row(
        "rm -f",
        _D,
        names("rm"),
        "deletes without a question",
        options=names("-f --force"),
        targets=_WORDS,
        always=True,
    ),
    Row("rm", _D, names("rm rmdir unlink"), "deletes", targets=_WORDS),
    Row("shred", _D, names("shred srm"), "deletes for good", targets=_WORDS, always=True),
    Row(
        "find -delete",
        _D,
        names("find"),
        "deletes what it finds",
        pattern=r"-delete$",
        targets=Targets.BEFORE_OPTIONS,
        default=".",
        always=True,
    ),
    Row(
        "find -fprint",
        _W,
        names("find"),
        "writes what it finds",
        pattern=r"-f(print|ls)",
        values=names("-fprint -fprint0 -fprintf -fls"),
        targets=Targets.VALUES,
    ),
    Row(
        "truncate",
        _W,
        names("truncate"),
        "cuts files",
        values=names("-s -r --size --reference"),
        targets=_WORDS,
    ),
    Row(
        "dd of=/dev",
        _F,
        names("dd"),
        "writes to a device",
        pattern=r"of=/dev/(?!null$|stdout$)",
        values=names("of="),
        targets=Targets.VALUES,
        always=True,
    ),
    Row(
        "dd",
        _W,
        names("dd"),
        "writes a file",
        pattern=r"of=",
        values=names("of="),
        targets=Targets.VALUES,
    ),
    Row(
        "mkfs",
        _F,
        names(
            "mkfs mke2fs mkfs.ext2 mkfs.ext3 mkfs.ext4 mkfs.xfs mkfs.btrfs mkfs.vfat mkfs.fat"
            " mkfs.ntfs mkdosfs mkswap wipefs fdisk sfdisk cfdisk gdisk sgdisk parted blkdiscard"
            " cryptsetup lvremove vgremove pvremove lvreduce mdadm zpool zfs hdparm nvme"
            " newfs diskutil"
        ),
        "changes disks or file systems",
        always=True,
    ),
    Row("mv", _W, names("mv"), "moves files there", values=names("-S --suffix"), targets=_LAST),
    Row("mv away", _D, names("mv"), "moves files away", targets=Targets.BUT_LAST),
    Row(
        "cp",
        _W,
        names("cp install ln rsync"),
        "puts files there",
        values=names("-S --suffix -m -o -g -e --mode --owner --group --rsh --exclude"),
        targets=_LAST,
    ),
    Row(
        "cp -t",
        _W,
        names("cp mv install ln"),
        "puts files there",
        values=names("-t --target-directory"),
        targets=Targets.VALUES,
    ),
    Row(
        "rsync --delete",
        _D,
        names("rsync"),
        "deletes what is not at the source",
        pattern=r"--del",
        targets=_LAST,
        always=True,
    ),
    Row(
        "tee",
        _W,
        names("tee touch mkdir mkfifo sponge"),
        "writes",
        values=names("-m -d -r -t --mode --date --reference"),
        targets=_WORDS,
    ),
    Row(
        "sed -i",
        _W,
        names("sed perl"),
        "changes files in place",
        pattern=r"-\w*i|--in-place",
        targets=_AFTER,
    ),
    Row(
        "chmod",
        Deed.RIGHTS,
        names("chmod chown chgrp setfacl chattr setcap"),
        "changes who may do what",
        targets=_AFTER,
    ),
    Row(
        "tar -x",
        _W,
        names("tar bsdtar"),
        "unpacks there",
        pattern=r"-{0,2}[a-zA-Z]*x[a-zA-Z]*$|--extract",
        values=names("-C --directory"),
        targets=Targets.VALUES,
        default=".",
    ),
    Row(
        "tar runs",
        Deed.RUNS,
        names("tar bsdtar"),
        "runs a program for each file",
        pattern=r"--to-c|--checkpoint-a|--use-c|--info-script|--new-volume|--rsh|-I|-F",
        always=True,
    ),
    Row(
        "unzip -d",
        _W,
        names("unzip"),
        "unpacks there",
        values=names("-d"),
        targets=Targets.VALUES,
        default=".",
    ),
    Row(
        "curl -o",
        _W,
        names("curl"),
        "writes what it gets",
        values=names("-o --output --output-dir -D --dump-header -c --cookie-jar"),
        targets=Targets.VALUES,
    ),
    Row(
        "wget -O",
        _W,
        names("wget"),
        "writes what it gets",
        values=names("-O --output-document -P --directory-prefix -o --output-file"),
        targets=Targets.VALUES,
    ),
    Row(
        "curl -d",
        _S,
        names("curl"),
        "sends data",
        pattern=r"-[a-zA-Z]*[dFT]|--(data|form|upload-file|json|url-query)|-X$|-XP|-XD|--req",
        always=True,
    ),
    Row(
        "wget --post", _S, names("wget"), "sends data", pattern=r"--(post|body|method)", always=True
    ),
    Row(
        "scp",
        _S,
        names("scp sftp rsync rclone"),
        "sends or fetches files",
        pattern=r"[^-/][^/]*:",
        always=True,
    ),
    Row(
        "nc",
        _S,
        names("nc ncat netcat socat telnet ftp tftp lftp"),
        "talks to the network",
        always=True,
    ),
    Row("ssh", _S, names("ssh mosh autossh"), "runs on another machine", always=True),
    _git("git clean", _D, "clean", options="-f --force", says="deletes what is not committed"),
    _git("git reset --hard", _D, "reset", options="--hard --merge", says="throws changes away"),
    _git(
        "git checkout",
        _D,
        "checkout switch",
        options="-f --force --discard-changes",
        says="throws changes away",
    ),
    _git("git checkout FILE", _D, "checkout restore", ". :/", says="throws changes away"),
    Row(
        "git checkout --",
        _D,
        names("git"),
        "throws changes away",
        (names("checkout"),),
        pattern=r"--$",
        values=_GIT,
        always=True,
    ),
    _git(
        "git push --force",
        _S,
        "push",
        options="-f --force --force-with-lease --mirror --delete",
        says="changes what others have",
    ),
    Row(
        "git push +",
        _S,
        names("git"),
        "changes what others have",
        (names("push"),),
        pattern=r"[+:].",
        values=_GIT,
        always=True,
    ),
    _git("git push", _S, "push", says="sends commits", always=False),
    _git("git branch -D", _D, "branch tag", options="-D -d --delete", says="deletes a name"),
    _git("git stash drop", _D, "stash", "drop clear", says="deletes what was put aside"),
    _git("git reflog expire", _D, "reflog", "expire delete", says="deletes the way back"),
    _git("git gc --prune", _D, "gc prune", options="--prune --expire", says="deletes the way back"),
    _git("git filter-branch", _W, "filter-branch filter-repo", says="writes history anew"),
    _git("git update-ref -d", _D, "update-ref", options="-d --stdin", says="deletes a name"),
    _git(
        "git worktree remove",
        _D,
        "worktree",
        "remove prune",
        options="-f --force",
        says="deletes a working tree",
    ),
    _git(
        "git config --global",
        _W,
        "config",
        options="--global --system",
        says="changes settings for everything",
    ),
    Row(
        "git -c",
        Deed.RUNS,
        names("git"),
        "has settings that can run programs",
        pattern=r"-c$|-c\w|--config-env|--exec-path=",
        values=_GIT,
        early=True,
        always=True,
    ),
    _elsewhere(
        Deed.BECOMES,
        "sudo doas su runuser pkexec gosu sg newgrp setpriv",
        says="runs as somebody else",
    ),
    _elsewhere(Deed.BECOMES, "chroot unshare nsenter", says="runs in other surroundings"),
    _elsewhere(Deed.STOPS, "shutdown reboot halt poweroff init telinit", says="stops the machine"),
    _elsewhere(Deed.STOPS, "pkill killall killall5 skill", says="ends programs by name"),
    Row("kill -1", Deed.STOPS, names("kill"), "ends everything", pattern=r"-?1$", always=True),
    _elsewhere(
        Deed.STOPS,
        "systemctl service launchctl",
        "stop disable mask kill poweroff reboot halt restart unload bootout",
        says="stops services",
    ),
    _elsewhere(Deed.RUNS, "crontab at batch", says="runs something later"),
    Row(
        "piped shell",
        Deed.RUNS,
        _SHELLS | _INTERPRETERS,
        "runs what it is sent",
        always=True,
        piped=True,
    ),
    _elsewhere(
        Deed.RIGHTS,
        "useradd userdel usermod groupadd groupdel passwd chpasswd chsh visudo vipw",
        says="changes who may log in",
    ),
    _elsewhere(Deed.RIGHTS, "iptables ip6tables nft ufw firewall-cmd", says="changes the firewall"),
    _elsewhere(
        Deed.RIGHTS,
        "mount umount swapoff insmod modprobe rmmod sysctl kexec",
        says="changes the system",
    ),
    _elsewhere(
        _D,
        "apt apt-get dnf yum zypper apk brew snap",
        "remove purge autoremove autopurge erase del uninstall",
        says="removes programs",
    ),
    _elsewhere(
        _D,
        "docker podman",
        "system volume image container network builder",
        "prune rm remove",
        says="deletes containers or their data",
    ),
    _elsewhere(_D, "docker podman", "rm rmi", says="deletes containers or images"),
    _elsewhere(
        Deed.BECOMES,
        "docker podman",
        "run exec create",
        options="--privileged -v --volume --mount --pid --device --cap-add",
        says="reaches out of a container",
    ),
    _elsewhere(_D, "kubectl oc", "delete drain", says="deletes in a cluster"),
    _elsewhere(_D, "helm", "uninstall delete", says="deletes in a cluster"),
    _elsewhere(_D, "terraform tofu pulumi", "destroy apply up", says="changes infrastructure"),
    _elsewhere(_D, "aws", "s3", "rm rb mv sync cp", says="changes what is stored elsewhere"),
    _elsewhere(_D, "gsutil", "rm rb mv cp rsync", says="changes what is stored elsewhere"),
    _elsewhere(_S, "npm yarn pnpm bun", "publish unpublish deprecate", says="publishes"),
    _elsewhere(_S, "cargo", "publish yank", says="publishes"),
    _elsewhere(_S, "twine", "upload", says="publishes"),
    _elsewhere(_S, "gem docker podman", "push", says="publishes"),
    _elsewhere(_S, "gh glab", "release repo secret api issue pr gist", says="speaks in your name"),
    _elsewhere(_S, "mail mailx sendmail mutt", says="sends mail"),
    _elsewhere(_D, "dropdb dropuser", says="deletes a database"),
    Row(
        "awk system",
        Deed.RUNS,
        names("awk gawk mawk nawk"),
        "runs programs or writes files",
        pattern=r"(?s).*(system\s*\(|(?<!\|)\|(?!\|)|getline|print[^;}]*>)",
        always=True,
    ),
)

"""The programs and shell words that a decision knows by name."""


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


RESERVED = _set(
    "if then else elif fi for while until do done case esac select function in time coproc"
    " [[ ]] ! { }"
)
"""In place of a command these are the shell's grammar."""
CHANGE_THE_SHELL = _set(
    "eval exec source . builtin command alias unalias export declare typeset local readonly unset"
    " trap enable set shopt hash read mapfile readarray let getopts bind complete"
)
"""Builtins after which later words may mean something else."""
SHELLS = _set("sh bash dash zsh ksh mksh fish csh tcsh ash")
RUN_ANOTHER = _set(
    "env sudo doas su runuser time timeout xargs nohup nice ionice chrt setsid stdbuf chroot watch"
    " flock strace ltrace parallel unshare nsenter busybox script systemd-run setpriv taskset"
    " unbuffer entr"
)
"""They run the command in their arguments."""
RUN_NO_OTHER = _set(
    "echo printf cat head tail wc ls grep egrep fgrep cut tr sort uniq diff test [ true false pwd"
    " cd mkdir touch cp mv rm ln basename dirname which type man git"
)
"""Words in their arguments are almost always text. Where a rule denies those words, a person is
asked; behind every other program the rule denies outright."""
READ_FILES = _set(
    "cat head tail wc ls grep egrep fgrep rg diff stat file tree test [ echo printf cd git"
)
"""They may name a protected file without writing it."""

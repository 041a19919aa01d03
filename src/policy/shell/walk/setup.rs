//! Owns which programs print a shell's set-up (`eval "$(ssh-agent -s)"`): variables, functions
//! and completions that run nothing of their own. Must never name a program that prints what
//! somebody else wrote.

use crate::policy::shell::Arg;

/// A program and the words of which one must come first among its operands; none = always.
type Row = (&'static [&'static str], &'static [&'static str]);

/// Programs that print set-up.
const ROWS: &[Row] = &[
    (
        &["ssh-agent", "gpg-agent", "keychain", "dircolors", "lesspipe", "lesspipe.sh", "resize"],
        &[],
    ),
    (&["register-python-argcomplete", "dbus-launch", "tset", "gnome-keyring-daemon"], &[]),
    (&["direnv"], &["hook", "export"]),
    (
        &["pyenv", "rbenv", "nodenv", "jenv", "goenv", "phpenv", "plenv", "luaenv", "tfenv"],
        &["init", "virtualenv-init"],
    ),
    (&["fnm", "opam", "starship", "zoxide", "atuin", "mcfly", "navi"], &["env", "init", "config"]),
    (&["mise", "rtx", "asdf", "sheldon", "devbox", "proto"], &["activate", "env", "hook-env"]),
    (&["mise", "rtx", "devbox", "flox", "sheldon"], &["exec-env", "source", "shellenv"]),
    (&["brew", "nix", "guix"], &["shellenv", "print-dev-env", "shell"]),
    (&["minikube", "docker-machine", "podman-machine"], &["docker-env", "podman-env", "env"]),
    (&["luarocks", "npm", "thefuck", "fasd", "fzf", "scutil"], &["path", "completion", "--alias"]),
    (&["fzf", "fasd", "hub", "thefuck"], &["--bash", "--zsh", "--init", "alias", "--alias"]),
    (
        &["conda", "mamba", "micromamba"],
        &["shell", "shell.bash", "shell.zsh", "shell.posix", "shellenv"],
    ),
];

/// First operands under which any program prints completions.
const COMPLETES: &[&str] = &["completion", "completions", "gen-completions", "--completion"];

/// Whether a call prints nothing but a shell's set-up.
pub(super) fn prints(name: &str, args: &[Arg]) -> bool {
    let mut texts = args.iter().filter_map(Arg::exact);
    let first = texts.clone().find(|text| !text.starts_with('-')).or_else(|| texts.next());
    let says = |words: &[&str]| first.is_some_and(|first| words.contains(&first));
    let row = |(names, words): &Row| names.contains(&name) && (words.is_empty() || says(words));
    says(COMPLETES) || ROWS.iter().any(row)
}

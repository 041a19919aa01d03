//! PURE. What the client hands to its shell prefix: one argument, the whole shell line. A tool call
//! is recognised by its frame (`… && eval WORD [< /dev/null] && pwd -P >| FILE`), as measured on
//! 2.1.197 and 2.1.332. Whatever has no such frame passes only when the environment proves that
//! it is a hook or a tool server; a frame we do not know must never switch the fence off.

/// What a shell line is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// A command of the model's (or a person's `!`), as `PreToolUse` saw it.
    Tool {
        /// Its text.
        command: String,
    },
    /// A hook in shell form or a stdio tool server: passes.
    Helper,
    /// Neither: runs under the strictest fence.
    Unknown,
}

/// Reads a shell line. `project` is `CLAUDE_PROJECT_DIR`, which the client sets for hooks and tool
/// servers and takes out of the environment of commands.
#[must_use]
pub fn read(line: &str, project: Option<&str>) -> Line {
    if let Some(command) = framed(line) {
        return Line::Tool { command };
    }
    match project {
        Some(dir) if dir.starts_with('/') && !line.contains("&& pwd -P >") => Line::Helper,
        Some(_) | None => Line::Unknown,
    }
}

/// The program that understands a line: the shell whose snapshot it sources, else the one the
/// client was told to use.
#[must_use]
pub fn shell(line: &str, variable: &dyn Fn(&str) -> Option<String>) -> String {
    let head = line.split(" eval ").next().unwrap_or_default();
    for name in ["bash", "zsh"] {
        if head.contains(&format!("/shell-snapshots/snapshot-{name}-")) {
            return named(name, variable).unwrap_or_else(|| name.to_owned());
        }
    }
    named("bash", variable).or_else(|| named("zsh", variable)).unwrap_or_else(|| "bash".to_owned())
}

/// The path of the shell of that name which the environment names.
fn named(name: &str, variable: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let given = ["CLAUDE_CODE_SHELL", "SHELL"].iter().filter_map(|v| variable(v));
    given.into_iter().find(|path| path.starts_with('/') && path.ends_with(&format!("/{name}")))
}

/// The command inside a tool call's frame. The outermost frame begins first.
fn framed(line: &str) -> Option<String> {
    let start = line.strip_prefix("eval ").into_iter();
    let later =
        line.match_indices(" && eval ").filter_map(|(at, found)| line.get(at + found.len()..));
    start.chain(later).find_map(|rest| {
        let (command, rest) = word(rest)?;
        let rest = rest.strip_prefix(" < /dev/null").unwrap_or(rest);
        let (file, rest) = word(rest.strip_prefix(" && pwd -P >| ")?)?;
        (rest.is_empty() && file.starts_with('/')).then_some(command)
    })
}

/// Reads one shell word of quotes, escapes and plain characters, and what follows it. A word that
/// would expand is not one the client writes.
fn word(text: &str) -> Option<(String, &str)> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let after = rest.get(first.len_utf8()..)?;
        rest = match first {
            ' ' => break,
            '\'' => {
                let (inner, after) = after.split_once('\'')?;
                out.push_str(inner);
                after
            }
            '"' => {
                let (inner, after) = after.split_once('"')?;
                if inner.contains(['$', '`', '\\']) {
                    return None;
                }
                out.push_str(inner);
                after
            }
            '\\' => {
                let next = after.chars().next()?;
                out.push(next);
                after.get(next.len_utf8()..)?
            }
            '\n' | '\t' | ';' | '&' | '|' | '<' | '>' | '(' | ')' | '$' | '`' => return None,
            plain => {
                out.push(plain);
                after
            }
        };
    }
    (text.len() > rest.len()).then_some((out, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "source /h/.claude/shell-snapshots/snapshot-bash-1-a.sh 2>/dev/null || true && { shopt -u extglob || setopt NO_EXTENDED_GLOB NO_BARE_GLOB_QUAL; } >/dev/null 2>&1 || true && ";
    const NEW: &str = "source /h/.claude/shell-snapshots/snapshot-zsh-1-a.sh 2>/dev/null || true && { \\builtin shopt -u extglob || \\builtin setopt NO_EXTENDED_GLOB; } >/dev/null 2>&1 || true && { \\builtin unalias -- 'which'; \\builtin unset -f -- 'which'; } >/dev/null 2>&1 || true && ";

    fn tool(line: &str) -> Option<String> {
        match read(line, None) {
            Line::Tool { command } => Some(command),
            Line::Helper | Line::Unknown => None,
        }
    }

    /// Quotes a command the way the client does.
    fn quoted(command: &str) -> String {
        format!("'{}'", command.replace('\'', "'\"'\"'"))
    }

    #[test]
    fn a_command_comes_back_as_it_was_asked_for() {
        let commands = [
            "echo hi > a.txt; it='x y'; echo \"$it\" | cat",
            "cat <<'EOF'\nit's\nEOF\necho 'a'\"b\" \\\n && cd /tmp",
            "  ls  ",
            "echo 'un",
            "true && eval 'rm x' < /dev/null && pwd -P >| /tmp/claude-1-cwd",
            "echo $'a\\nb' `date` !! ; ls *.txt",
            "größe=1; echo \u{1f980}",
        ];
        for head in [OLD, NEW] {
            for command in commands {
                for input in ["", " < /dev/null"] {
                    let line = format!(
                        "{head}eval {}{input} && pwd -P >| /tmp/claude-06a0-cwd",
                        quoted(command)
                    );
                    assert_eq!(tool(&line).as_deref(), Some(command), "{line}");
                }
            }
            let plain = format!("{head}eval true < /dev/null && pwd -P >| /tmp/claude-06a0-cwd");
            assert_eq!(tool(&plain).as_deref(), Some("true"));
        }
    }

    #[test]
    fn only_what_the_environment_vouches_for_passes() {
        let helpers = [
            "true shell-form \"$CLAUDE_PROJECT_DIR\" || exit 2",
            "/usr/bin/python3 /srv/mcp.py 'it'\"'\"'s' 'a b'",
            "'/usr/bin/python3 /srv/mcp.py'",
        ];
        for line in helpers {
            assert_eq!(read(line, Some("/w")), Line::Helper, "{line}");
            assert_eq!(read(line, None), Line::Unknown, "{line}");
            assert_eq!(read(line, Some("")), Line::Unknown, "{line}");
        }
        // A frame of tomorrow's client: neither known nor a helper.
        let tomorrow = "run -- 'rm x' && pwd -P >| /tmp/claude-1-cwd";
        assert_eq!(read(tomorrow, Some("/w")), Line::Unknown);
    }

    #[test]
    fn a_frame_that_would_expand_is_not_the_clients() {
        for word in ["$x", "\"$x\"", "a;b", "`x`", "'open", ""] {
            let line = format!("{OLD}eval {word} && pwd -P >| /tmp/claude-1-cwd");
            assert_eq!(tool(&line), None, "{word}");
        }
        assert_eq!(tool(&format!("{OLD}eval 'x' && pwd -P >| /tmp/c && rm x")), None);
    }

    #[test]
    fn the_snapshot_says_which_shell_understands_the_line() {
        let shells = |name: &str| match name {
            "SHELL" => Some("/opt/bin/zsh".to_owned()),
            _ => None,
        };
        assert_eq!(shell(&format!("{OLD}eval 'x'"), &shells), "bash");
        assert_eq!(shell(&format!("{NEW}eval 'x'"), &shells), "/opt/bin/zsh");
        assert_eq!(shell("true", &shells), "/opt/bin/zsh");
        assert_eq!(shell("x eval '/shell-snapshots/snapshot-zsh-'", &|_| None), "bash");
    }
}

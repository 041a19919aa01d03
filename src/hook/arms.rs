//! The arms' boundary file: `~/.claude/company/config/arms-paths.json`, name to a path or a list of
//! paths, absolute, `~` or relative to the home directory. Every candidate is a boundary, existing
//! or not; an arm's linked worktrees are part of it.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use serde::Deserialize;

use super::context::Context;
use crate::git::discover;
use crate::git::paths::{self, Follow};
use crate::policy::facts::{Arms, RootKind};
use crate::policy::lane::AbsPath;

/// Where the file lies, below the home directory.
pub const FILE: &str = ".claude/company/config/arms-paths.json";

#[derive(Deserialize)]
#[serde(untagged)]
enum Paths {
    One(String),
    Many(Vec<String>),
}

/// Parses the file's text.
pub fn parse(text: &str, home: &Path) -> Result<Vec<(String, Vec<AbsPath>)>, String> {
    let arms: BTreeMap<String, Paths> = serde_json::from_str(text).map_err(|e| e.to_string())?;
    let mut out = Vec::new();
    for (name, paths) in arms {
        let texts = match paths {
            Paths::One(text) => vec![text],
            Paths::Many(texts) => texts,
        };
        let mut folders = Vec::new();
        for text in texts {
            let path = match text.strip_prefix('~') {
                Some(rest) => home.join(rest.trim_start_matches('/')),
                None => home.join(&text),
            };
            let path = paths::canonical(&path, Follow::All)
                .ok_or_else(|| format!("arm {name}: {text:?} is no path"))?;
            folders.push(path);
        }
        out.push((name, folders));
    }
    Ok(out)
}

/// The arms as they stand for this event.
#[must_use]
pub fn facts(context: &Context<'_>) -> Arms {
    let home = context.home.user();
    let file = home.join(FILE);
    let parsed = match fs::read_to_string(&file) {
        Ok(text) => parse(&text, home),
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Arms::Undeclared,
        Err(e) => Err(e.to_string()),
    };
    match parsed {
        Ok(arms) => declared(arms, context),
        Err(error) => Arms::Unreadable {
            error: format!("{} can't be read: {error}", file.display()),
            own: own_folders(context),
        },
    }
}

/// The session's own repository with all its trees, or its folder where there is none.
fn own_folders(context: &Context<'_>) -> Vec<AbsPath> {
    match &context.root {
        Some(root) => {
            let mut own = vec![root.path.clone()];
            own.extend(discover::worktrees(&root.common).into_iter().map(|t| t.path));
            own
        }
        None => context.cwd.clone().into_iter().collect(),
    }
}

fn declared(arms: Vec<(String, Vec<AbsPath>)>, context: &Context<'_>) -> Arms {
    // An arm's linked worktrees lie elsewhere: the main checkout they name says whose they are.
    let mut places: Vec<AbsPath> = context.cwd.clone().into_iter().collect();
    if let Some(root) = &context.root {
        places.push(root.path.clone());
        if let RootKind::Linked { main } = &root.kind {
            places.push(main.clone());
        }
    }
    let own = arms
        .iter()
        .filter(|(_, folders)| folders.iter().any(|f| places.iter().any(|p| p.within(f))))
        .map(|(name, _)| name.clone())
        .collect();
    let arms = arms
        .into_iter()
        .map(|(name, folders)| {
            let mut all = folders.clone();
            for folder in &folders {
                if let Some(root) = discover::root_of(folder).filter(|r| r.path == *folder) {
                    let trees = discover::worktrees(&root.common).into_iter().map(|t| t.path);
                    all.extend(trees.filter(|t| !folders.contains(t)));
                }
            }
            (name, all)
        })
        .collect();
    Arms::Declared { arms, own }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_path_or_several_absolute_home_or_relative() {
        let text = r#"{"alpha": ["gone/alpha", "~/arms/alpha"], "beta": "/srv/beta"}"#;
        let arms = parse(text, Path::new("/nowhere/u")).unwrap();
        let show: Vec<String> = arms.iter().flat_map(|(_, p)| p).map(ToString::to_string).collect();
        assert_eq!(show, ["/nowhere/u/gone/alpha", "/nowhere/u/arms/alpha", "/srv/beta"]);
        assert!(parse("{oops", Path::new("/")).is_err() && parse("[]", Path::new("/")).is_err());
    }
}

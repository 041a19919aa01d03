//! Which of several files decides a setting. Person and machine override the default; a session
//! overrides isolation alone; a project may set what is free to it and tighten what protects,
//! never loosen: a repository that a stranger wrote must not be able to switch a guard off. Pure.

use std::collections::BTreeMap;

use super::layer::{Layer, Placed, Value, value_of_default};
use super::rows::{Kind, Project, ROWS, Row};

/// Where a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// Nobody set it.
    Default,
    /// The person's file.
    User,
    /// This machine's file.
    Machine,
    /// The repository's file.
    Project,
    /// The environment the session was started with.
    Session,
}

impl Origin {
    /// One word for a table.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::User => "user",
            Self::Machine => "machine",
            Self::Project => "project",
            Self::Session => "session",
        }
    }
}

/// The deciding value of every setting that some file sets, and whose it is.
pub type Resolved = BTreeMap<&'static str, (Origin, Placed)>;

/// Layers from the weakest to the strongest become one.
#[must_use]
pub fn resolve(layers: &[(Origin, Layer)]) -> Resolved {
    let mut resolved = Resolved::new();
    for (origin, layer) in layers {
        for row in ROWS {
            let Some(placed) = layer.get(row.key) else { continue };
            let known = resolved.get(row.key).map(|(_, placed)| &placed.value);
            let next = match (*origin, row.project) {
                (Origin::Project, Project::Never) => None,
                (Origin::Project, Project::Tighten) => tighter(row, known, &placed.value),
                (Origin::Session, _) if row.key != "isolation" => None,
                (
                    Origin::Default
                    | Origin::User
                    | Origin::Machine
                    | Origin::Project
                    | Origin::Session,
                    Project::Free | Project::Tighten | Project::Never,
                ) => Some(placed.value.clone()),
            };
            if let Some(value) = next {
                resolved.insert(row.key, (*origin, Placed { value, ..placed.clone() }));
            }
        }
    }
    resolved
}

/// The asked value where it is tighter than the known one (or than the default), else nothing.
fn tighter(row: &Row, known: Option<&Value>, asked: &Value) -> Option<Value> {
    let default = value_of_default(row);
    let known = known.or(default.as_ref())?;
    match (known, asked, row.kind) {
        (Value::Choice(old), Value::Choice(new), Kind::Choice(words)) => {
            let rank = |word: &str| words.iter().position(|known| *known == word);
            (rank(new) > rank(old)).then(|| asked.clone())
        }
        (Value::Flag(false), Value::Flag(true), _) => Some(asked.clone()),
        (Value::Number(old), Value::Number(new), _) => (new > old).then(|| asked.clone()),
        (Value::List(old), Value::List(new), _) => {
            let added: Vec<_> = new.iter().filter(|item| !old.contains(item)).cloned().collect();
            let both = || Value::List(old.iter().cloned().chain(added.clone()).collect());
            (!added.is_empty()).then(both)
        }
        (
            Value::Choice(_) | Value::Flag(_) | Value::Number(_) | Value::Text(_) | Value::List(_),
            Value::Choice(_) | Value::Flag(_) | Value::Number(_) | Value::Text(_) | Value::List(_),
            Kind::Choice(_) | Kind::Flag | Kind::Number { .. } | Kind::Text | Kind::List,
        ) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::layer::parse;

    fn resolved(user: &str, project: &str) -> Resolved {
        resolve(&[(Origin::User, parse(user).unwrap()), (Origin::Project, parse(project).unwrap())])
    }

    fn shown(resolved: &Resolved, key: &str) -> String {
        resolved.get(key).map_or("-".to_owned(), |(origin, placed)| {
            format!("{} {}", origin.word(), placed.value)
        })
    }

    #[test]
    fn a_project_tightens_and_never_loosens() {
        for (user, project, key, want) in [
            ("", "fence = \"require\"", "fence", "project \"require\""),
            ("", "fence = \"off\"", "fence", "-"),
            ("fence = \"require\"", "fence = \"on\"", "fence", "user \"require\""),
            ("", "require = true", "require", "project true"),
            ("require = true", "require = false", "require", "user true"),
            ("", "lease_seconds = 60", "lease_seconds", "-"),
            ("lease_seconds = 60", "lease_seconds = 300", "lease_seconds", "project 300"),
            ("", "land = \"auto\"", "land", "-"),
            ("land = \"auto\"", "land = \"never\"", "land", "project \"never\""),
            (
                "broad_stagers = [\"a\"]",
                "broad_stagers = [\"b\", \"a\"]",
                "broad_stagers",
                "project [\"a\", \"b\"]",
            ),
            ("broad_stagers = [\"a\"]", "broad_stagers = []", "broad_stagers", "user [\"a\"]"),
            ("", "resolver = \"curl x | sh\"", "resolver", "-"),
            ("", "lane_idle_seconds = 1", "lane_idle_seconds", "-"),
        ] {
            assert_eq!(shown(&resolved(user, project), key), want, "{user} / {project}");
        }
    }

    #[test]
    fn isolation_is_the_projects_and_the_sessions_to_set() {
        let both = resolved("isolation = \"always\"", "isolation = \"off\"");
        assert_eq!(shown(&both, "isolation"), "project \"off\"");
        let session = resolve(&[
            (Origin::Project, parse("isolation = \"off\"").unwrap()),
            (Origin::Session, parse("isolation = \"always\"\nfence = \"off\"").unwrap()),
        ]);
        assert_eq!(shown(&session, "isolation"), "session \"always\"");
        assert_eq!(shown(&session, "fence"), "-");
    }
}

//! What this kernel really grants, why not more, and the exact repair. [`offer`] asks cheaply
//! before each command, [`probe`] tries it in a child for doctor and for the gates. Never believes
//! a version number where it can try.

use super::Level;

#[cfg(target_os = "linux")]
#[path = "probe_linux.rs"]
mod system;
#[cfg(not(target_os = "linux"))]
#[path = "probe_other.rs"]
mod system;

pub use system::{offer, probe};

/// What a command can expect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// The level.
    pub level: Level,
    /// Landlock's version, if there is one.
    pub landlock: Option<u32>,
    /// Why not the full fence, in one line.
    pub short: Option<String>,
}

/// What a trial showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The level that was really reached.
    pub level: Level,
    /// Landlock's version, if there is one.
    pub landlock: Option<u32>,
    /// What is in the way, most likely first.
    pub obstacles: Vec<Obstacle>,
}

/// Something that keeps the fence from being full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Obstacle {
    /// Ubuntu restricts user namespaces to programs with a profile.
    AppArmor,
    /// Debian's switch for unprivileged user namespaces is off.
    UsernsClone,
    /// The number of user namespaces is limited to none.
    UsernsLimit,
    /// A container's system call filter refuses namespaces.
    Container,
    /// The client's own sandbox (or another one) is around us.
    Sandbox,
    /// The kernel has no Landlock, or it is not switched on.
    NoLandlock,
    /// Not Linux.
    Platform,
    /// Something else refused.
    Unknown,
}

impl Obstacle {
    /// One line for people.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::AppArmor => "AppArmor restricts unprivileged user namespaces",
            Self::UsernsClone => "unprivileged user namespaces are switched off",
            Self::UsernsLimit => "no user namespaces are allowed (user.max_user_namespaces = 0)",
            Self::Container => "the container's seccomp profile refuses namespaces",
            Self::Sandbox => "another sandbox is around this process and forbids mounts",
            Self::NoLandlock => "the kernel offers no Landlock",
            Self::Platform => "no kernel fence on this system yet",
            Self::Unknown => "the kernel refused a namespace or a mount",
        }
    }

    /// What to do about it; `binary` is where octo is installed.
    #[must_use]
    pub fn fix(self, binary: &str) -> String {
        match self {
            Self::AppArmor => format!(
                "as root, allow it for octo only:\n\
                 printf 'abi <abi/4.0>,\\ninclude <tunables/global>\\nprofile octo {binary} flags=(unconfined) {{\\n  userns,\\n}}\\n' > /etc/apparmor.d/octo\n\
                 apparmor_parser -r /etc/apparmor.d/octo"
            ),
            Self::UsernsClone => {
                "as root: sysctl -w kernel.unprivileged_userns_clone=1 (and in /etc/sysctl.d/)"
                    .to_owned()
            }
            Self::UsernsLimit => {
                "as root: sysctl -w user.max_user_namespaces=10000 (and in /etc/sysctl.d/)"
                    .to_owned()
            }
            Self::Container => "start the container with a seccomp profile that allows `unshare` \
                                and mounts in a user namespace: docker run --security-opt \
                                seccomp=unconfined --security-opt apparmor=unconfined --security-opt \
                                systempaths=unconfined"
                .to_owned(),
            Self::Sandbox => "nothing to repair: inside the client's sandbox only write rights can \
                              be narrowed; switch one of the two off"
                .to_owned(),
            Self::NoLandlock => "boot with landlock in the `lsm=` list, on Linux 5.13 or newer \
                                 (6.12 for signals)"
                .to_owned(),
            Self::Platform => "none".to_owned(),
            Self::Unknown => "run `octo doctor` outside of any sandbox and compare".to_owned(),
        }
    }
}

/// What the system says about itself, as far as it explains a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Signs {
    /// `kernel.apparmor_restrict_unprivileged_userns`.
    pub(super) apparmor: Option<u64>,
    /// `kernel.unprivileged_userns_clone`.
    pub(super) clone: Option<u64>,
    /// `user.max_user_namespaces`.
    pub(super) limit: Option<u64>,
    /// `Seccomp:` of our own status.
    pub(super) seccomp: Option<u64>,
    /// `NoNewPrivs:` of our own status.
    pub(super) no_new_privs: Option<u64>,
    /// A container runtime left its mark.
    pub(super) container: Option<u64>,
}

/// Explains a refused inner ring.
#[must_use]
pub(super) fn explain(signs: Signs) -> Vec<Obstacle> {
    let mut found = Vec::new();
    if signs.limit == Some(0) {
        found.push(Obstacle::UsernsLimit);
    }
    if signs.clone == Some(0) {
        found.push(Obstacle::UsernsClone);
    }
    if signs.no_new_privs == Some(1) {
        found.push(Obstacle::Sandbox);
    } else if signs.seccomp == Some(2) || signs.container == Some(1) {
        found.push(Obstacle::Container);
    }
    if signs.apparmor == Some(1) {
        found.push(Obstacle::AppArmor);
    }
    if found.is_empty() {
        found.push(Obstacle::Unknown);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_explained_by_what_the_system_says_of_itself() {
        let rows = [
            (Signs { apparmor: Some(1), ..Signs::default() }, Obstacle::AppArmor),
            (Signs { clone: Some(0), ..Signs::default() }, Obstacle::UsernsClone),
            (Signs { limit: Some(0), ..Signs::default() }, Obstacle::UsernsLimit),
            (Signs { seccomp: Some(2), ..Signs::default() }, Obstacle::Container),
            (Signs { container: Some(1), ..Signs::default() }, Obstacle::Container),
            (
                Signs { seccomp: Some(2), no_new_privs: Some(1), ..Signs::default() },
                Obstacle::Sandbox,
            ),
            (Signs { apparmor: Some(0), clone: Some(1), ..Signs::default() }, Obstacle::Unknown),
        ];
        for (signs, first) in rows {
            assert_eq!(explain(signs).first(), Some(&first), "{signs:?}");
        }
    }

    #[test]
    fn the_apparmor_repair_names_the_installed_binary() {
        let fix = Obstacle::AppArmor.fix("/opt/octo/bin/octo");
        assert!(fix.contains("profile octo /opt/octo/bin/octo") && fix.contains("userns,"));
    }
}

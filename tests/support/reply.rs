//! What a hook answered, held against the envelope the client understands: a denial is JSON on
//! stdout, the same reason on stderr and exit 2; a pass is exit 0 and never an `allow`.

use std::process::Output;

use serde_json::Value;

/// The raw answer of one hook process.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: Option<i32>,
}

/// What the answer means to the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    Pass,
    Deny(String),
}

impl From<Output> for Reply {
    fn from(output: Output) -> Self {
        Self {
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            code: output.status.code(),
        }
    }
}

impl Reply {
    /// Reads a `PreToolUse` answer; fails on anything between a clean pass and a whole denial.
    #[track_caller]
    pub(crate) fn verdict(&self) -> Verdict {
        let said = self.json();
        let specific = &said["hookSpecificOutput"];
        match self.code {
            Some(0) => {
                assert!(specific["permissionDecision"].is_null(), "a pass that decides: {self:?}");
                Verdict::Pass
            }
            Some(2) => {
                assert_eq!(specific["permissionDecision"], "deny", "half a denial: {self:?}");
                assert_eq!(specific["hookEventName"], "PreToolUse", "another event's: {self:?}");
                let reason = specific["permissionDecisionReason"].as_str().unwrap_or_default();
                assert!(!reason.is_empty(), "no reason: {self:?}");
                assert!(
                    self.stderr.contains(reason.trim()),
                    "stderr says something else: {self:?}"
                );
                Verdict::Deny(reason.to_owned())
            }
            other => panic!("neither pass nor denial, exit {other:?}: {self:?}"),
        }
    }

    /// True for a denial.
    #[track_caller]
    pub(crate) fn denied(&self) -> bool {
        self.verdict() != Verdict::Pass
    }

    /// The rule id of a denial, from `octo: denied [rule] …`.
    #[track_caller]
    pub(crate) fn rule(&self) -> String {
        let Verdict::Deny(reason) = self.verdict() else { panic!("passed: {self:?}") };
        let rule = reason.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
        rule.map_or_else(|| panic!("no rule id in: {reason}"), |(rule, _)| rule.to_owned())
    }

    /// What is told to the model beside the verdict.
    pub(crate) fn context(&self) -> String {
        let said = self.json();
        said["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
    }

    #[track_caller]
    fn json(&self) -> Value {
        let text = self.stdout.trim();
        if text.is_empty() {
            return Value::Null;
        }
        serde_json::from_str(text).unwrap_or_else(|e| panic!("stdout is no JSON ({e}): {self:?}"))
    }
}

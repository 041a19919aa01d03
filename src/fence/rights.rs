//! What a fenced command must not be able to do by right of its user: for root the capabilities that
//! lift mounts, read around them or reach a disk raw; for everybody what a program could bring along.
//! Safe code only. Never takes away what ordinary work of that user needs.

use std::io;

use rustix::io::Errno;
use rustix::thread::{
    CapabilitySet, capabilities, remove_capability_from_bounding_set, set_capabilities,
    set_no_new_privs,
};

/// Rights that root would keep across `exec`, and with which the fence could be lifted or passed by
/// (`open_by_handle_at`, tracing the supervisor, a device node of the disk, code in the kernel). In
/// a namespace most mean nothing; where none is to be had they are the machine's.
const DROPPED: [CapabilitySet; 8] = [
    CapabilitySet::SYS_ADMIN,
    CapabilitySet::SYS_PTRACE,
    CapabilitySet::DAC_READ_SEARCH,
    CapabilitySet::MKNOD,
    CapabilitySet::SYS_RAWIO,
    CapabilitySet::SYS_MODULE,
    CapabilitySet::BPF,
    CapabilitySet::PERFMON,
];

/// Takes them from what this process will execute. An ordinary user outside of a namespace may not
/// change that bound, has none of these rights and gets none: no program may bring any along.
pub(super) fn drop_rights() -> io::Result<()> {
    for capability in DROPPED {
        match remove_capability_from_bounding_set(capability) {
            // A kernel that does not know the right does not grant it.
            Ok(()) | Err(Errno::INVAL) => {}
            Err(Errno::PERM) => return without_the_bound(),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn without_the_bound() -> io::Result<()> {
    set_no_new_privs(true)?;
    let mut sets = capabilities(None)?;
    for capability in DROPPED {
        sets.effective.remove(capability);
        sets.permitted.remove(capability);
        sets.inheritable.remove(capability);
    }
    Ok(set_capabilities(None, sets)?)
}

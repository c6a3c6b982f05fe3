//! The seccomp filter: which system calls of a client reach the supervisor.
//!
//! All others are allowed without looking at their arguments, so the kernel's per-call "always allowed" bitmap
//! (Linux 5.11) skips the filter for them. ioctl is the exception: its request number must be looked at; only type
//! `'d'` (DRM, `_IOC_TYPE` = 0x64) is trapped.
//!
//! 32-bit and x32 calls are refused with ENOSYS by the supervisor, which says so once: a 32-bit program would
//! otherwise look at the host's own devices without anyone noticing.

use libc::{sock_filter, sock_fprog};

/// Calls trapped whatever their arguments. `creat` and `chdir` only to refuse them in the simulated directories.
pub(super) const PATH_CALLS: [i64; 19] = [
    libc::SYS_open,
    libc::SYS_openat,
    libc::SYS_openat2,
    libc::SYS_creat,
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_access,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_readlink,
    libc::SYS_readlinkat,
    libc::SYS_chdir,
    libc::SYS_getxattr,
    libc::SYS_lgetxattr,
    libc::SYS_listxattr,
    libc::SYS_llistxattr,
];

/// `AUDIT_ARCH_X86_64`.
const ARCH_X86_64: u32 = 0xc000_003e;
/// `__X32_SYSCALL_BIT`.
const X32_BIT: u32 = 0x4000_0000;
/// `_IOC_TYPE` of DRM requests, in place.
const DRM_TYPE: u32 = (b'd' as u32) << 8;

// Offsets in struct seccomp_data.
const NR: u32 = 0;
const ARCH: u32 = 4;
/// Low half of args[1] (little endian).
const ARG1: u32 = 16 + 8;

const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
const AND: u16 = (libc::BPF_ALU | libc::BPF_AND | libc::BPF_K) as u16;
const JEQ: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
const JGE: u16 = (libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16;
const RET: u16 = (libc::BPF_RET | libc::BPF_K) as u16;

/// A jump whose targets are labels, or a plain instruction.
enum Ins {
    Plain(u16, u32),
    /// Jumps to the label if the condition holds, else goes on.
    If(u16, u32, Label),
    /// Jumps to the label if the condition does not hold, else goes on.
    Unless(u16, u32, Label),
}

#[derive(Clone, Copy)]
enum Label {
    Trap,
    Allow,
    Ioctl,
}

/// The program, ready for the kernel.
pub(super) fn program() -> Vec<sock_filter> {
    use Ins::{If, Plain, Unless};
    let mut code = vec![
        Plain(LOAD, ARCH),
        Unless(JEQ, ARCH_X86_64, Label::Trap),
        Plain(LOAD, NR),
        If(JEQ, libc::SYS_ioctl as u32, Label::Ioctl),
        // A tracer that skips a call leaves the number -1.
        If(JEQ, u32::MAX, Label::Allow),
        If(JGE, X32_BIT, Label::Trap),
    ];
    code.extend(PATH_CALLS.map(|nr| If(JEQ, nr as u32, Label::Trap)));
    code.push(Plain(RET, libc::SECCOMP_RET_ALLOW));
    let ioctl = code.len();
    code.extend([Plain(LOAD, ARG1), Plain(AND, 0xff00), Unless(JEQ, DRM_TYPE, Label::Allow)]);
    let trap = code.len();
    code.push(Plain(RET, libc::SECCOMP_RET_USER_NOTIF));
    let allow = code.len();
    code.push(Plain(RET, libc::SECCOMP_RET_ALLOW));
    let place = |label: Label| match label {
        Label::Trap => trap,
        Label::Allow => allow,
        Label::Ioctl => ioctl,
    };
    code.iter()
        .enumerate()
        .map(|(at, ins)| {
            // The program is far shorter than a jump's reach of 255.
            let hop = |label: Label| (place(label) - at - 1) as u8;
            match *ins {
                Plain(code, k) => sock_filter { code, jt: 0, jf: 0, k },
                If(code, k, label) => sock_filter { code, jt: hop(label), jf: 0, k },
                Unless(code, k, label) => sock_filter { code, jt: 0, jf: hop(label), k },
            }
        })
        .collect()
}

/// Whether a notification comes from a call in a foreign ABI (i386 or x32).
pub(super) fn is_foreign(data: &libc::seccomp_data) -> bool {
    // -1 never gets here: the filter allows it.
    data.arch != ARCH_X86_64 || (data.nr as u32) & X32_BIT != 0
}

const _: () = assert!(size_of::<sock_fprog>() == 16);

#[cfg(test)]
mod tests;

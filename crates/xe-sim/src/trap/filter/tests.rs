//! Runs the program in a small interpreter of classic BPF.

use super::*;

fn verdict(arch: u32, nr: u32, arg1: u64) -> u32 {
    let code = program();
    let load = |offset: u32| match offset {
        NR => nr,
        ARCH => arch,
        ARG1 => arg1 as u32,
        other => panic!("load from {other}"),
    };
    let (mut at, mut acc) = (0, 0u32);
    loop {
        let ins = code[at];
        at += 1;
        match ins.code {
            LOAD => acc = load(ins.k),
            AND => acc &= ins.k,
            JEQ => at += usize::from(if acc == ins.k { ins.jt } else { ins.jf }),
            JGE => at += usize::from(if acc >= ins.k { ins.jt } else { ins.jf }),
            RET => return ins.k,
            other => panic!("code {other:#x}"),
        }
    }
}

#[test]
fn native_calls_trap_as_listed_and_no_others() {
    for nr in 0..600u32 {
        let want = if PATH_CALLS.contains(&i64::from(nr)) {
            libc::SECCOMP_RET_USER_NOTIF
        } else {
            libc::SECCOMP_RET_ALLOW
        };
        assert_eq!(verdict(ARCH_X86_64, nr, 0), want, "nr {nr}");
    }
}

#[test]
fn ioctl_traps_only_type_d() {
    let ioctl = libc::SYS_ioctl as u32;
    for (request, want) in [
        (0xc040_6400u64, libc::SECCOMP_RET_USER_NOTIF), // DRM_IOCTL_VERSION
        (0x4088_6445, libc::SECCOMP_RET_USER_NOTIF),    // DRM_IOCTL_XE_VM_BIND
        (0x5401, libc::SECCOMP_RET_ALLOW),              // TCGETS
        (0xc068_6611, libc::SECCOMP_RET_ALLOW),         // PROCMAP_QUERY
        (0x6500, libc::SECCOMP_RET_ALLOW),
        // The kernel looks at the low 32 bits of the request only.
        (0xffff_ffff_c040_6400, libc::SECCOMP_RET_USER_NOTIF),
        (0x6400_0000_0000, libc::SECCOMP_RET_ALLOW),
    ] {
        assert_eq!(verdict(ARCH_X86_64, ioctl, request), want, "request {request:#x}");
    }
}

#[test]
fn foreign_abis_always_reach_the_supervisor() {
    const AUDIT_ARCH_I386: u32 = 0x4000_0003;
    assert_eq!(verdict(AUDIT_ARCH_I386, 20, 0), libc::SECCOMP_RET_USER_NOTIF);
    assert_eq!(verdict(ARCH_X86_64, X32_BIT | 39, 0), libc::SECCOMP_RET_USER_NOTIF);
}

#[test]
fn call_skipped_by_a_tracer_is_allowed() {
    assert_eq!(verdict(ARCH_X86_64, u32::MAX, 0), libc::SECCOMP_RET_ALLOW);
}

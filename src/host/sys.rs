//! The one system call that neither std nor nix wraps.

/// `kcmp(2)`, KCMP_FILE: do two descriptors of this process name one open file? `None`: the kernel has no kcmp, or a
/// sandbox forbids it.
pub fn same_open_file(one: i32, other: i32) -> Option<bool> {
    const KCMP_FILE: libc::c_long = 0; // linux/kcmp.h
    let pid = libc::c_long::from(std::process::id().cast_signed());
    // SAFETY: kcmp takes five integers and touches no memory of ours.
    let order = unsafe {
        libc::syscall(libc::SYS_kcmp, pid, pid, KCMP_FILE, libc::c_long::from(one), libc::c_long::from(other))
    };
    if order < 0 { None } else { Some(order == 0) }
}

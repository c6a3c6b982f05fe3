//! Where the kernel can refuse, and with what, for requests that are well formed.

/// One kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// Name in a fault rule of the simulated device.
    pub name: &'static str,
    /// Name of the request in the device's totals and in strace.
    pub request: &'static str,
    pub errnos: &'static [&'static str],
}

/// From the xe driver of Linux 6.18 (drivers/gpu/drm/xe): what its handlers return besides EINVAL and ENOENT for malformed
/// arguments. EINTR: an interruptible lock or wait (xe_vm_lock, drm_exec). ECANCELED: a queue that was reset or a wedged
/// device. EPERM and EFAULT of a bind: hmm_range_fault on a user pointer.
pub const POINTS: [Point; 6] = [
    Point {
        name: "vm_bind",
        request: "XE_VM_BIND",
        errnos: &["ENOMEM", "EPERM", "EFAULT", "EINTR", "ENOSPC", "ECANCELED"],
    },
    Point { name: "gem_create", request: "XE_GEM_CREATE", errnos: &["ENOMEM", "ENOSPC", "EINTR"] },
    Point { name: "exec", request: "XE_EXEC", errnos: &["ENOMEM", "EINTR", "ECANCELED"] },
    Point { name: "wait", request: "XE_WAIT_USER_FENCE", errnos: &["ETIME", "EINTR", "EIO"] },
    Point { name: "vm_create", request: "XE_VM_CREATE", errnos: &["ENOMEM"] },
    Point {
        name: "queue_create",
        request: "XE_EXEC_QUEUE_CREATE",
        errnos: &["ENOMEM", "EINTR", "ECANCELED"],
    },
];

/// By its name in a rule, or by a short one (bind, create).
pub fn by_name(name: &str) -> Option<&'static Point> {
    let name = match name {
        "bind" => "vm_bind",
        "create" => "gem_create",
        other => other,
    };
    POINTS.iter().find(|point| point.name == name)
}

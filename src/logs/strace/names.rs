//! Which request a number, or strace's name for it, is.
//!
//! strace knows the xe requests from 6.8. Older ones print `_IOC(…)`, or the name that another driver has for the
//! same number and size. Numbers from the kernel's uAPI headers drm.h, xe_drm.h and i915_drm.h.

/// (number, size, name).
const XE: [(u64, u64, &str); 16] = [
    (0x40, 0x28, "XE_DEVICE_QUERY"),
    (0x41, 0x38, "XE_GEM_CREATE"),
    (0x42, 0x28, "XE_GEM_MMAP_OFFSET"),
    (0x43, 0x20, "XE_VM_CREATE"),
    (0x44, 0x18, "XE_VM_DESTROY"),
    (0x45, 0x88, "XE_VM_BIND"),
    (0x46, 0x30, "XE_EXEC_QUEUE_CREATE"),
    (0x47, 0x18, "XE_EXEC_QUEUE_DESTROY"),
    (0x48, 0x28, "XE_EXEC_QUEUE_GET_PROPERTY"),
    (0x49, 0x38, "XE_EXEC"),
    (0x4a, 0x48, "XE_WAIT_USER_FENCE"),
    (0x4b, 0x20, "XE_OBSERVATION"),
    (0x4c, 0x40, "XE_MADVISE"),
    (0x4d, 0x40, "XE_VM_QUERY_MEM_RANGE_ATTRS"),
    (0x4e, 0x28, "XE_EXEC_QUEUE_SET_PROPERTY"),
    (0x4f, 0x38, "XE_VM_GET_PROPERTY"),
];

/// Names that strace prints for requests of xe or i915 since another driver's request has the same code.
const COLLISIONS: [(&str, &str); 5] = [
    ("DRM_IOCTL_VIRTGPU_EXECBUFFER", "XE_GEM_MMAP_OFFSET"),
    ("DRM_IOCTL_ETNAVIV_GEM_CPU_PREP or DRM_IOCTL_MSM_GEM_CPU_PREP", "XE_VM_DESTROY"),
    ("DRM_IOCTL_V3D_PERFMON_CREATE", "XE_EXEC_QUEUE_GET_PROPERTY"),
    ("DRM_IOCTL_ETNAVIV_PM_QUERY_DOM", "XE_WAIT_USER_FENCE"),
    ("DRM_IOCTL_I915_GEM_WAIT or DRM_IOCTL_RADEON_GEM_OP", "I915_GEM_WAIT"),
];

/// i915's requests, by number only: their sizes grew over time.
const I915: [(u64, &str); 42] = [
    (0x46, "I915_GETPARAM"),
    (0x47, "I915_SETPARAM"),
    (0x54, "I915_GEM_EXECBUFFER"),
    (0x57, "I915_GEM_BUSY"),
    (0x58, "I915_GEM_THROTTLE"),
    (0x5b, "I915_GEM_CREATE"),
    (0x5c, "I915_GEM_PREAD"),
    (0x5d, "I915_GEM_PWRITE"),
    (0x5e, "I915_GEM_MMAP"),
    (0x5f, "I915_GEM_SET_DOMAIN"),
    (0x60, "I915_GEM_SW_FINISH"),
    (0x61, "I915_GEM_SET_TILING"),
    (0x62, "I915_GEM_GET_TILING"),
    (0x63, "I915_GEM_GET_APERTURE"),
    (0x64, "I915_GEM_MMAP_GTT"),
    (0x65, "I915_GET_PIPE_FROM_CRTC_ID"),
    (0x66, "I915_GEM_MADVISE"),
    (0x67, "I915_OVERLAY_PUT_IMAGE"),
    (0x68, "I915_OVERLAY_ATTRS"),
    (0x69, "I915_GEM_EXECBUFFER2"),
    (0x6a, "I915_GET_SPRITE_COLORKEY"),
    (0x6b, "I915_SET_SPRITE_COLORKEY"),
    (0x6c, "I915_GEM_WAIT"),
    (0x6d, "I915_GEM_CONTEXT_CREATE"),
    (0x6e, "I915_GEM_CONTEXT_DESTROY"),
    (0x6f, "I915_GEM_SET_CACHING"),
    (0x70, "I915_GEM_GET_CACHING"),
    (0x71, "I915_REG_READ"),
    (0x72, "I915_GET_RESET_STATS"),
    (0x73, "I915_GEM_USERPTR"),
    (0x74, "I915_GEM_CONTEXT_GETPARAM"),
    (0x75, "I915_GEM_CONTEXT_SETPARAM"),
    (0x76, "I915_PERF_OPEN"),
    (0x77, "I915_PERF_ADD_CONFIG"),
    (0x78, "I915_PERF_REMOVE_CONFIG"),
    (0x79, "I915_QUERY"),
    (0x7a, "I915_GEM_VM_CREATE"),
    (0x7b, "I915_GEM_VM_DESTROY"),
    (0x7c, "I915_GEM_CREATE_EXT"),
    (0x5a, "I915_GEM_LEAVEVT"),
    (0x55, "I915_GEM_PIN"),
    (0x56, "I915_GEM_UNPIN"),
];

/// The DRM core's requests: outside 0x40..0xa0 a number means the same for every driver, whatever the size.
const CORE: [(u64, &str); 78] = [
    (0x00, "VERSION"),
    (0x01, "GET_UNIQUE"),
    (0x02, "GET_MAGIC"),
    (0x05, "GET_CLIENT"),
    (0x06, "GET_STATS"),
    (0x07, "SET_VERSION"),
    (0x09, "GEM_CLOSE"),
    (0x0a, "GEM_FLINK"),
    (0x0b, "GEM_OPEN"),
    (0x0c, "GET_CAP"),
    (0x0d, "SET_CLIENT_CAP"),
    (0x10, "SET_UNIQUE"),
    (0x11, "AUTH_MAGIC"),
    (0x1e, "SET_MASTER"),
    (0x1f, "DROP_MASTER"),
    (0x2d, "PRIME_HANDLE_TO_FD"),
    (0x2e, "PRIME_FD_TO_HANDLE"),
    (0x3a, "WAIT_VBLANK"),
    (0x3b, "CRTC_GET_SEQUENCE"),
    (0x3c, "CRTC_QUEUE_SEQUENCE"),
    (0xa0, "MODE_GETRESOURCES"),
    (0xa1, "MODE_GETCRTC"),
    (0xa2, "MODE_SETCRTC"),
    (0xa3, "MODE_CURSOR"),
    (0xa4, "MODE_GETGAMMA"),
    (0xa5, "MODE_SETGAMMA"),
    (0xa6, "MODE_GETENCODER"),
    (0xa7, "MODE_GETCONNECTOR"),
    (0xa8, "MODE_ATTACHMODE"),
    (0xa9, "MODE_DETACHMODE"),
    (0xaa, "MODE_GETPROPERTY"),
    (0xab, "MODE_SETPROPERTY"),
    (0xac, "MODE_GETPROPBLOB"),
    (0xad, "MODE_GETFB"),
    (0xae, "MODE_ADDFB"),
    (0xaf, "MODE_RMFB"),
    (0xb0, "MODE_PAGE_FLIP"),
    (0xb1, "MODE_DIRTYFB"),
    (0xb2, "MODE_CREATE_DUMB"),
    (0xb3, "MODE_MAP_DUMB"),
    (0xb4, "MODE_DESTROY_DUMB"),
    (0xb5, "MODE_GETPLANERESOURCES"),
    (0xb6, "MODE_GETPLANE"),
    (0xb7, "MODE_SETPLANE"),
    (0xb8, "MODE_ADDFB2"),
    (0xb9, "MODE_OBJ_GETPROPERTIES"),
    (0xba, "MODE_OBJ_SETPROPERTY"),
    (0xbb, "MODE_CURSOR2"),
    (0xbc, "MODE_ATOMIC"),
    (0xbd, "MODE_CREATEPROPBLOB"),
    (0xbe, "MODE_DESTROYPROPBLOB"),
    (0xbf, "SYNCOBJ_CREATE"),
    (0xc0, "SYNCOBJ_DESTROY"),
    (0xc1, "SYNCOBJ_HANDLE_TO_FD"),
    (0xc2, "SYNCOBJ_FD_TO_HANDLE"),
    (0xc3, "SYNCOBJ_WAIT"),
    (0xc4, "SYNCOBJ_RESET"),
    (0xc5, "SYNCOBJ_SIGNAL"),
    (0xc6, "MODE_CREATE_LEASE"),
    (0xc7, "MODE_LIST_LESSEES"),
    (0xc8, "MODE_GET_LEASE"),
    (0xc9, "MODE_REVOKE_LEASE"),
    (0xca, "SYNCOBJ_TIMELINE_WAIT"),
    (0xcb, "SYNCOBJ_QUERY"),
    (0xcc, "SYNCOBJ_TRANSFER"),
    (0xcd, "SYNCOBJ_TIMELINE_SIGNAL"),
    (0xce, "MODE_GETFB2"),
    (0xcf, "SYNCOBJ_EVENTFD"),
    (0xd0, "MODE_CLOSEFB"),
    (0xd1, "SET_CLIENT_NAME"),
    (0xd2, "GEM_CHANGE_HANDLE"),
    (0x03, "IRQ_BUSID"),
    (0x04, "GET_MAP"),
    (0x08, "MODESET_CTL"),
    (0x12, "BLOCK"),
    (0x13, "UNBLOCK"),
    (0x14, "CONTROL"),
    (0x3f, "UPDATE_DRAW"),
];

/// `_IOC(dir, type, nr, size)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Raw {
    pub kind: u64,
    pub nr: u64,
    pub size: u64,
}

/// What the rest of the trace says of the device behind the descriptors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Context {
    /// Names of i915 requests were printed and no request of xe was seen.
    pub i915: bool,
    /// Requests of another driver whose names collide with those of xe were seen that cannot be xe's.
    pub virtgpu: bool,
    pub etnaviv: bool,
    pub v3d: bool,
}

/// A request's name, and whether it differs from what strace would make a reader believe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub name: String,
    pub relabelled: bool,
}

/// Exactly one of xe's requests, by number and size.
pub(super) fn is_xe(raw: Raw) -> bool {
    raw.kind == 0x64 && XE.iter().any(|&(nr, size, _)| nr == raw.nr && size == raw.size)
}

/// A name that strace prints by collision.
pub(super) fn is_collision(printed: &str) -> bool {
    COLLISIONS.iter().any(|(known, _)| *known == printed)
}

pub(super) fn of_raw(raw: Raw, context: Context) -> Option<String> {
    if raw.kind != 0x64 {
        return None;
    }
    if !(0x40..0xa0).contains(&raw.nr) {
        return CORE.iter().find(|(nr, _)| *nr == raw.nr).map(|(_, name)| (*name).to_owned());
    }
    if context.i915
        && let Some((_, name)) = I915.iter().find(|(nr, _)| *nr == raw.nr)
    {
        return Some((*name).to_owned());
    }
    XE.iter().find(|(nr, size, _)| *nr == raw.nr && *size == raw.size).map(|(_, _, name)| (*name).to_owned())
}

pub(super) fn of_printed(printed: &str, context: Context) -> Named {
    if let Some((_, right)) = COLLISIONS.iter().find(|(known, _)| *known == printed) {
        let truly_other = (context.virtgpu && printed.contains("VIRTGPU"))
            || (context.etnaviv && printed.contains("ETNAVIV"))
            || (context.v3d && printed.contains("V3D"));
        if !truly_other {
            return Named { name: (*right).to_owned(), relabelled: true };
        }
    }
    let name = printed.strip_prefix("DRM_IOCTL_").unwrap_or(printed);
    Named { name: name.to_owned(), relabelled: false }
}

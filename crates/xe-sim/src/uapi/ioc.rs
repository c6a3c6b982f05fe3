//! Request numbers and their names.

/// `_IOC_DIR` bits as the kernel's `drm_ioctl` looks at them.
const DIR_WRITE: u32 = 1;
const DIR_READ: u32 = 2;

/// Type byte of all DRM requests.
pub const DRM_TYPE: u8 = b'd';

/// A decoded request number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    pub nr: u32,
    pub kind: u8,
    /// The client writes (the kernel copies in).
    pub input: bool,
    /// The client reads (the kernel copies out).
    pub output: bool,
    /// Bytes of the client's struct.
    pub size: usize,
}

impl Request {
    pub fn decode(cmd: u32) -> Request {
        let dir = cmd >> 30;
        Request {
            nr: cmd & 0xff,
            kind: (cmd >> 8) as u8,
            input: dir & DIR_WRITE != 0,
            output: dir & DIR_READ != 0,
            size: ((cmd >> 16) & 0x3fff) as usize,
        }
    }
}

/// What the kernel knows of one request.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    pub name: &'static str,
    /// The full number of this kernel's struct: `DRM_IOWR(…)` as the header defines it.
    pub cmd: u32,
    /// Whether render nodes may use it (`DRM_RENDER_ALLOW`); others get EACCES there.
    pub render: bool,
}

impl Spec {
    const fn new(name: &'static str, cmd: u32) -> Spec {
        Spec { name, cmd, render: true }
    }

    const fn primary(name: &'static str, cmd: u32) -> Spec {
        Spec { name, cmd, render: false }
    }
}

pub const VERSION: u32 = 0x00;
pub const GEM_CLOSE: u32 = 0x09;
pub const GET_CAP: u32 = 0x0c;
pub const PRIME_HANDLE_TO_FD: u32 = 0x2d;
pub const PRIME_FD_TO_HANDLE: u32 = 0x2e;
pub const XE_DEVICE_QUERY: u32 = 0x40;
pub const XE_GEM_CREATE: u32 = 0x41;
pub const XE_GEM_MMAP_OFFSET: u32 = 0x42;
pub const XE_VM_CREATE: u32 = 0x43;
pub const XE_VM_DESTROY: u32 = 0x44;
pub const XE_VM_BIND: u32 = 0x45;
pub const XE_EXEC_QUEUE_CREATE: u32 = 0x46;
pub const XE_EXEC_QUEUE_DESTROY: u32 = 0x47;
pub const XE_EXEC_QUEUE_GET_PROPERTY: u32 = 0x48;
pub const XE_EXEC: u32 = 0x49;
pub const XE_WAIT_USER_FENCE: u32 = 0x4a;
pub const XE_OBSERVATION: u32 = 0x4b;
pub const XE_MADVISE: u32 = 0x4c;
pub const XE_VM_QUERY_MEM_RANGE_ATTRS: u32 = 0x4d;
pub const XE_EXEC_QUEUE_SET_PROPERTY: u32 = 0x4e;
pub const XE_VM_GET_PROPERTY: u32 = 0x4f;
pub const SYNCOBJ_CREATE: u32 = 0xbf;
pub const SYNCOBJ_DESTROY: u32 = 0xc0;
pub const SYNCOBJ_HANDLE_TO_FD: u32 = 0xc1;
pub const SYNCOBJ_FD_TO_HANDLE: u32 = 0xc2;
pub const SYNCOBJ_WAIT: u32 = 0xc3;
pub const SYNCOBJ_RESET: u32 = 0xc4;
pub const SYNCOBJ_SIGNAL: u32 = 0xc5;
pub const SYNCOBJ_TIMELINE_WAIT: u32 = 0xca;
pub const SYNCOBJ_QUERY: u32 = 0xcb;
pub const SYNCOBJ_TRANSFER: u32 = 0xcc;
pub const SYNCOBJ_TIMELINE_SIGNAL: u32 = 0xcd;
pub const SYNCOBJ_EVENTFD: u32 = 0xcf;

/// The kernel's view of request `nr`; `None` for a number that no table has (EINVAL).
pub fn spec(nr: u32) -> Option<Spec> {
    Some(match nr {
        VERSION => Spec::new("VERSION", 0xc040_6400),
        0x01 => Spec::primary("GET_UNIQUE", 0xc010_6401),
        0x02 => Spec::primary("GET_MAGIC", 0x8004_6402),
        0x05 => Spec::primary("GET_CLIENT", 0xc028_6405),
        0x07 => Spec::primary("SET_VERSION", 0xc010_6407),
        GEM_CLOSE => Spec::new("GEM_CLOSE", 0x4008_6409),
        0x0a => Spec::primary("GEM_FLINK", 0xc008_640a),
        0x0b => Spec::primary("GEM_OPEN", 0xc010_640b),
        GET_CAP => Spec::new("GET_CAP", 0xc010_640c),
        0x0d => Spec::primary("SET_CLIENT_CAP", 0x4010_640d),
        0x11 => Spec::primary("AUTH_MAGIC", 0x4004_6411),
        0x1e => Spec::primary("SET_MASTER", 0x0000_641e),
        0x1f => Spec::primary("DROP_MASTER", 0x0000_641f),
        PRIME_HANDLE_TO_FD => Spec::new("PRIME_HANDLE_TO_FD", 0xc00c_642d),
        PRIME_FD_TO_HANDLE => Spec::new("PRIME_FD_TO_HANDLE", 0xc00c_642e),
        XE_DEVICE_QUERY => Spec::new("XE_DEVICE_QUERY", 0xc028_6440),
        XE_GEM_CREATE => Spec::new("XE_GEM_CREATE", 0xc038_6441),
        XE_GEM_MMAP_OFFSET => Spec::new("XE_GEM_MMAP_OFFSET", 0xc028_6442),
        XE_VM_CREATE => Spec::new("XE_VM_CREATE", 0xc020_6443),
        XE_VM_DESTROY => Spec::new("XE_VM_DESTROY", 0x4018_6444),
        XE_VM_BIND => Spec::new("XE_VM_BIND", 0x4088_6445),
        XE_EXEC_QUEUE_CREATE => Spec::new("XE_EXEC_QUEUE_CREATE", 0xc030_6446),
        XE_EXEC_QUEUE_DESTROY => Spec::new("XE_EXEC_QUEUE_DESTROY", 0x4018_6447),
        XE_EXEC_QUEUE_GET_PROPERTY => Spec::new("XE_EXEC_QUEUE_GET_PROPERTY", 0xc028_6448),
        XE_EXEC => Spec::new("XE_EXEC", 0x4038_6449),
        XE_WAIT_USER_FENCE => Spec::new("XE_WAIT_USER_FENCE", 0xc048_644a),
        XE_OBSERVATION => Spec::new("XE_OBSERVATION", 0x4020_644b),
        XE_MADVISE => Spec::new("XE_MADVISE", 0x4040_644c),
        XE_VM_QUERY_MEM_RANGE_ATTRS => Spec::new("XE_VM_QUERY_MEM_RANGE_ATTRS", 0xc040_644d),
        XE_EXEC_QUEUE_SET_PROPERTY => Spec::new("XE_EXEC_QUEUE_SET_PROPERTY", 0x4028_644e),
        XE_VM_GET_PROPERTY => Spec::new("XE_VM_GET_PROPERTY", 0xc038_644f),
        SYNCOBJ_CREATE => Spec::new("SYNCOBJ_CREATE", 0xc008_64bf),
        SYNCOBJ_DESTROY => Spec::new("SYNCOBJ_DESTROY", 0xc008_64c0),
        SYNCOBJ_HANDLE_TO_FD => Spec::new("SYNCOBJ_HANDLE_TO_FD", 0xc018_64c1),
        SYNCOBJ_FD_TO_HANDLE => Spec::new("SYNCOBJ_FD_TO_HANDLE", 0xc018_64c2),
        SYNCOBJ_WAIT => Spec::new("SYNCOBJ_WAIT", 0xc028_64c3),
        SYNCOBJ_RESET => Spec::new("SYNCOBJ_RESET", 0xc010_64c4),
        SYNCOBJ_SIGNAL => Spec::new("SYNCOBJ_SIGNAL", 0xc010_64c5),
        SYNCOBJ_TIMELINE_WAIT => Spec::new("SYNCOBJ_TIMELINE_WAIT", 0xc030_64ca),
        SYNCOBJ_QUERY => Spec::new("SYNCOBJ_QUERY", 0xc018_64cb),
        SYNCOBJ_TRANSFER => Spec::new("SYNCOBJ_TRANSFER", 0xc020_64cc),
        SYNCOBJ_TIMELINE_SIGNAL => Spec::new("SYNCOBJ_TIMELINE_SIGNAL", 0xc018_64cd),
        SYNCOBJ_EVENTFD => Spec::new("SYNCOBJ_EVENTFD", 0xc018_64cf),
        _ => return None,
    })
}

/// The name of request `nr` for traces: `DRM_0x6e` for a number that no table has.
pub fn name(nr: u32) -> String {
    spec(nr).map_or_else(|| format!("DRM_{nr:#04x}"), |s| s.name.to_owned())
}

/// `EPERM` for 1 and so on; the number for one without a name here.
pub fn errno_name(errno: i32) -> String {
    let known = nix::errno::Errno::from_raw(errno);
    if known == nix::errno::Errno::UnknownErrno { errno.to_string() } else { format!("{known:?}") }
}

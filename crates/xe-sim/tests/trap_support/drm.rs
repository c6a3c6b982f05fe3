//! The few requests that the test clients need, laid out by hand from `drm.h` and `xe_drm.h`.

use std::os::fd::{AsRawFd, OwnedFd};

use super::sys;

pub const VERSION: u32 = 0xc040_6400;
const GEM_CLOSE: u32 = 0x4008_6409;
const XE_GEM_CREATE: u32 = 0xc038_6441;
const XE_GEM_MMAP_OFFSET: u32 = 0xc028_6442;
const XE_VM_CREATE: u32 = 0xc020_6443;
const XE_VM_BIND: u32 = 0x4088_6445;
const XE_WAIT_USER_FENCE: u32 = 0xc048_644a;

pub fn open() -> OwnedFd {
    sys::open(c"/dev/dri/renderD128", libc::O_RDWR | libc::O_CLOEXEC).unwrap()
}

/// The driver's name by DRM_IOCTL_VERSION.
pub fn version(fd: i32) -> Result<String, i32> {
    let mut name = [0u8; 16];
    let mut version = [0u64; 8];
    version[2] = name.len() as u64;
    version[3] = name.as_mut_ptr() as u64;
    sys::ioctl(fd, VERSION, version.as_mut_ptr().cast())?;
    let len = (version[2] as usize).min(name.len());
    Ok(String::from_utf8_lossy(&name[..len]).into_owned())
}

/// A buffer object in system memory; its handle.
pub fn create(fd: &OwnedFd, size: u64) -> Result<u32, i32> {
    let mut args = [0u64; 7];
    args[1] = size;
    args[2] = 1; // placement: region 0
    args[4] = 1; // cpu_caching: write back
    sys::ioctl(fd.as_raw_fd(), XE_GEM_CREATE, args.as_mut_ptr().cast())?;
    Ok((args[3] >> 32) as u32)
}

pub fn close(fd: &OwnedFd, handle: u32) -> Result<(), i32> {
    let mut args = [u64::from(handle)];
    sys::ioctl(fd.as_raw_fd(), GEM_CLOSE, args.as_mut_ptr().cast()).map(drop)
}

/// A buffer object mapped for reading and writing.
pub fn map(fd: &OwnedFd, handle: u32, len: usize) -> *mut u8 {
    let prot = libc::PROT_READ | libc::PROT_WRITE;
    sys::map(len, prot, libc::MAP_SHARED, fd.as_raw_fd(), mmap_offset(fd, handle))
}

/// The same at a place in the room that an earlier mapping holds, as compute-runtime does it.
pub fn map_at(fd: &OwnedFd, handle: u32, at: *mut u8, len: usize) {
    sys::map_at(at, len, fd.as_raw_fd(), mmap_offset(fd, handle));
}

fn mmap_offset(fd: &OwnedFd, handle: u32) -> u64 {
    let mut args = [0u64; 5];
    args[1] = u64::from(handle);
    sys::ioctl(fd.as_raw_fd(), XE_GEM_MMAP_OFFSET, args.as_mut_ptr().cast()).unwrap();
    args[2]
}

pub fn vm(fd: &OwnedFd) -> u32 {
    let mut args = [0u64; 4];
    args[1] = 0b11; // SCRATCH_PAGE | LR_MODE, as compute-runtime asks
    sys::ioctl(fd.as_raw_fd(), XE_VM_CREATE, args.as_mut_ptr().cast()).unwrap();
    (args[1] >> 32) as u32
}

/// Binds user memory at a fixed GPU address.
pub fn bind_userptr(fd: &OwnedFd, vm: u32, cpu: u64, len: u64, readonly: bool) -> Result<(), i32> {
    let mut args = [0u64; 17];
    args[1] = u64::from(vm);
    args[2] = 1 << 32; // pad, num_binds
    // struct drm_xe_vm_bind_op from byte 24 on.
    args[5] = cpu;
    args[6] = len;
    args[7] = 0x1_0000_0000;
    args[8] = 2 | u64::from(readonly) << 32; // DRM_XE_VM_BIND_OP_MAP_USERPTR, flags
    sys::ioctl(fd.as_raw_fd(), XE_VM_BIND, args.as_mut_ptr().cast()).map(drop)
}

/// Waits until the 64-bit word at `at` equals `value`, at most `timeout` ns.
pub fn wait(fd: &OwnedFd, at: *mut u8, value: u64, timeout: i64) -> Result<(), i32> {
    let mut args = [0u64; 9];
    args[1] = at as u64;
    args[3] = value;
    args[4] = u64::MAX;
    args[5] = timeout as u64;
    sys::ioctl(fd.as_raw_fd(), XE_WAIT_USER_FENCE, args.as_mut_ptr().cast()).map(drop)
}

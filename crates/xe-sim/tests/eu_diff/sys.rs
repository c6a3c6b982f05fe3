//! OpenCL's C interface, as far as the reference needs it, taken from `libOpenCL.so.1` at run time.

use std::ffi::{CStr, CString, c_char, c_void};
use std::mem::size_of_val;
use std::ptr;
use std::time::{Duration, Instant};

use libloading::{Library, Symbol};

type Handle = *mut c_void;

const CL_PLATFORM_NAME: u32 = 0x0902;
const CL_DEVICE_TYPE_CPU: u64 = 1 << 1;
const CL_MEM_READ_WRITE: u64 = 1;
const CL_MEM_COPY_HOST_PTR: u64 = 1 << 5;
const CL_PROGRAM_BUILD_LOG: u32 = 0x1183;

type Notify = Option<unsafe extern "C" fn()>;
type Ids = unsafe extern "C" fn(u32, *mut Handle, *mut u32) -> i32;
type DeviceIds = unsafe extern "C" fn(Handle, u64, u32, *mut Handle, *mut u32) -> i32;
type Info = unsafe extern "C" fn(Handle, u32, usize, *mut c_void, *mut usize) -> i32;
type CreateContext =
    unsafe extern "C" fn(*const isize, u32, *const Handle, Notify, *mut c_void, *mut i32) -> Handle;
type CreateQueue = unsafe extern "C" fn(Handle, Handle, u64, *mut i32) -> Handle;
type CreateProgram =
    unsafe extern "C" fn(Handle, u32, *const *const c_char, *const usize, *mut i32) -> Handle;
type BuildProgram =
    unsafe extern "C" fn(Handle, u32, *const Handle, *const c_char, Notify, *mut c_void) -> i32;
type BuildInfo = unsafe extern "C" fn(Handle, Handle, u32, usize, *mut c_void, *mut usize) -> i32;
type CreateKernel = unsafe extern "C" fn(Handle, *const c_char, *mut i32) -> Handle;
type CreateBuffer = unsafe extern "C" fn(Handle, u64, usize, *mut c_void, *mut i32) -> Handle;
type SetArg = unsafe extern "C" fn(Handle, u32, usize, *const c_void) -> i32;
type Enqueue = unsafe extern "C" fn(
    Handle,
    Handle,
    u32,
    *const usize,
    *const usize,
    *const usize,
    u32,
    *const Handle,
    *mut Handle,
) -> i32;
type ReadBuffer = unsafe extern "C" fn(
    Handle,
    Handle,
    u32,
    usize,
    usize,
    *mut c_void,
    u32,
    *const Handle,
    *mut Handle,
) -> i32;
type One = unsafe extern "C" fn(Handle) -> i32;

/// A kernel argument.
pub enum Arg<'a> {
    /// A buffer with these contents, which the kernel may change.
    Buffer(&'a mut Vec<u8>),
    Value(&'a [u8]),
    /// Bytes of local memory.
    Local(usize),
}

/// PoCL's CPU device with a context and a queue. Objects are not released: the process that uses it is short-lived.
pub struct OpenCl {
    library: Library,
    device: Handle,
    context: Handle,
    queue: Handle,
}

/// A built program.
pub struct Program(Handle);

fn check(status: i32, what: &str) -> Result<(), String> {
    if status == 0 { Ok(()) } else { Err(format!("{what}: OpenCL error {status}")) }
}

impl OpenCl {
    /// Finds PoCL among the platforms.
    pub fn open() -> Result<Self, String> {
        // SAFETY: the loader's constructors have no requirement.
        let library = unsafe { Library::new("libOpenCL.so.1") }.map_err(|error| error.to_string())?;
        let null = ptr::null_mut();
        let mut cl = Self { library, device: null, context: null, queue: null };
        let mut platforms = [null; 16];
        let mut count = 0;
        // SAFETY: the signature is OpenCL's; there is room for 16 ids.
        let status = unsafe {
            let all: Symbol<'_, Ids> = cl.get(b"clGetPlatformIDs\0")?;
            all(16, platforms.as_mut_ptr(), &mut count)
        };
        check(status, "platforms")?;
        let mut names = Vec::new();
        for platform in platforms.into_iter().take(count as usize) {
            let name = cl.text(b"clGetPlatformInfo\0", platform, CL_PLATFORM_NAME)?;
            if name != "Portable Computing Language" {
                names.push(name);
                continue;
            }
            cl.device = cl.first_device(platform)?;
            break;
        }
        if cl.device.is_null() {
            return Err(format!("PoCL is not among the OpenCL platforms {names:?}"));
        }
        let mut status = 0;
        // SAFETY: the signatures are OpenCL's; the device is live, and so is the context when the queue is made.
        unsafe {
            let context: Symbol<'_, CreateContext> = cl.get(b"clCreateContext\0")?;
            let made = context(ptr::null(), 1, &cl.device, None, null, &mut status);
            check(status, "context")?;
            let queue: Symbol<'_, CreateQueue> = cl.get(b"clCreateCommandQueue\0")?;
            let queue = queue(made, cl.device, 0, &mut status);
            check(status, "queue")?;
            (cl.context, cl.queue) = (made, queue);
        }
        Ok(cl)
    }

    fn first_device(&self, platform: Handle) -> Result<Handle, String> {
        let mut device = ptr::null_mut();
        // SAFETY: the signature is OpenCL's; there is room for one id.
        let status = unsafe {
            let devices: Symbol<'_, DeviceIds> = self.get(b"clGetDeviceIDs\0")?;
            devices(platform, CL_DEVICE_TYPE_CPU, 1, &mut device, ptr::null_mut())
        };
        check(status, "devices").map(|()| device)
    }

    /// # Safety
    /// `T` is the function's type.
    unsafe fn get<T>(&self, name: &[u8]) -> Result<Symbol<'_, T>, String> {
        // SAFETY: by the caller.
        unsafe { self.library.get(name) }.map_err(|error| error.to_string())
    }

    fn text(&self, function: &[u8], object: Handle, key: u32) -> Result<String, String> {
        let mut bytes = vec![0u8; 1 << 16];
        let mut length = 0;
        // SAFETY: all functions named here have this signature; the buffer is as long as said.
        let status = unsafe {
            let info: Symbol<'_, Info> = self.get(function)?;
            info(object, key, bytes.len(), bytes.as_mut_ptr().cast(), &mut length)
        };
        check(status, "info")?;
        bytes.truncate(length);
        Ok(CStr::from_bytes_until_nul(&bytes).map(CStr::to_string_lossy).unwrap_or_default().into_owned())
    }

    /// Compiles; the error holds the compiler's log.
    pub fn build(&self, source: &str, options: &str) -> Result<Program, String> {
        let options = CString::new(options).map_err(|error| error.to_string())?;
        let (text, length) = (source.as_ptr().cast::<c_char>(), source.len());
        let mut status = 0;
        // SAFETY: the signatures are OpenCL's; text and options live through the calls.
        let (program, status) = unsafe {
            let create: Symbol<'_, CreateProgram> = self.get(b"clCreateProgramWithSource\0")?;
            let program = create(self.context, 1, &text, &length, &mut status);
            check(status, "program")?;
            let build: Symbol<'_, BuildProgram> = self.get(b"clBuildProgram\0")?;
            (program, build(program, 1, &self.device, options.as_ptr(), None, ptr::null_mut()))
        };
        if status == 0 {
            return Ok(Program(program));
        }
        let mut log = vec![0u8; 1 << 16];
        let mut length = 0;
        // SAFETY: the signature is OpenCL's; the buffer is as long as said.
        unsafe {
            let info: Symbol<'_, BuildInfo> = self.get(b"clGetProgramBuildInfo\0")?;
            info(program, self.device, CL_PROGRAM_BUILD_LOG, log.len(), log.as_mut_ptr().cast(), &mut length);
        }
        log.truncate(length);
        Err(format!("PoCL does not build it: OpenCL error {status}\n{}", String::from_utf8_lossy(&log)))
    }

    /// Runs `kernel` on `groups` × `local` work-items; buffers hold the results afterwards. Returns the time from
    /// the launch to its end.
    pub fn run(
        &self,
        program: &Program,
        kernel: &str,
        args: &mut [Arg<'_>],
        groups: [u32; 3],
        local: [u32; 3],
    ) -> Result<Duration, String> {
        let name = CString::new(kernel).map_err(|error| error.to_string())?;
        let mut status = 0;
        // SAFETY: the signature is OpenCL's; the name lives through the call.
        let kernel = unsafe {
            let create: Symbol<'_, CreateKernel> = self.get(b"clCreateKernel\0")?;
            create(program.0, name.as_ptr(), &mut status)
        };
        check(status, "kernel")?;
        let mut buffers = Vec::new();
        for (i, arg) in (0u32..).zip(args.iter_mut()) {
            let buffer = if let Arg::Buffer(bytes) = arg { self.buffer(bytes)? } else { ptr::null_mut() };
            let (size, value) = match arg {
                Arg::Buffer(_) => (size_of_val(&buffer), (&raw const buffer).cast::<c_void>()),
                Arg::Value(bytes) => (bytes.len(), bytes.as_ptr().cast()),
                Arg::Local(bytes) => (*bytes, ptr::null()),
            };
            // SAFETY: the signature is OpenCL's; the value lives through the call and has that size.
            let status = unsafe {
                let set: Symbol<'_, SetArg> = self.get(b"clSetKernelArg\0")?;
                set(kernel, i, size, value)
            };
            check(status, &format!("argument {i}"))?;
            buffers.push(buffer);
        }
        let local = local.map(|n| n as usize);
        let global: [usize; 3] = std::array::from_fn(|d| groups[d] as usize * local[d]);
        let started = Instant::now();
        // SAFETY: the signatures are OpenCL's; three dimensions are given.
        unsafe {
            let enqueue: Symbol<'_, Enqueue> = self.get(b"clEnqueueNDRangeKernel\0")?;
            let status = enqueue(
                self.queue,
                kernel,
                3,
                ptr::null(),
                global.as_ptr(),
                local.as_ptr(),
                0,
                ptr::null(),
                ptr::null_mut(),
            );
            check(status, "launch")?;
            let finish: Symbol<'_, One> = self.get(b"clFinish\0")?;
            check(finish(self.queue), "finish")?;
        }
        let took = started.elapsed();
        for (arg, buffer) in args.iter_mut().zip(buffers) {
            let Arg::Buffer(bytes) = arg else { continue };
            // SAFETY: the signatures are OpenCL's; the destination is as long as the buffer, the read is blocking.
            unsafe {
                let read: Symbol<'_, ReadBuffer> = self.get(b"clEnqueueReadBuffer\0")?;
                let (n, to) = (bytes.len(), bytes.as_mut_ptr().cast());
                let status = read(self.queue, buffer, 1, 0, n, to, 0, ptr::null(), ptr::null_mut());
                check(status, "read")?;
                let release: Symbol<'_, One> = self.get(b"clReleaseMemObject\0")?;
                check(release(buffer), "release")?;
            }
        }
        Ok(took)
    }

    fn buffer(&self, bytes: &mut [u8]) -> Result<Handle, String> {
        let mut status = 0;
        // SAFETY: the signature is OpenCL's; the contents are copied within the call.
        let buffer = unsafe {
            let create: Symbol<'_, CreateBuffer> = self.get(b"clCreateBuffer\0")?;
            let flags = CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR;
            create(self.context, flags, bytes.len(), bytes.as_mut_ptr().cast(), &mut status)
        };
        check(status, "buffer").map(|()| buffer)
    }
}

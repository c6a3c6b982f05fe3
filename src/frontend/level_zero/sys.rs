//! The loader, opened at run time, behind functions that are safe to call: handles are only made here, device memory
//! is only touched inside its bounds, and every operation has finished when its function returns, so that borrowed
//! host memory outlives it. The only unsafe code of this front end.

use std::ffi::{CString, c_char, c_void};
use std::path::Path;
use std::ptr::{null, null_mut};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::abi::*;
use super::tracer;

/// A call that did not succeed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZeError {
    pub call: &'static str,
    /// `ze_result_t`; 0 for errors outside Level Zero.
    pub code: u32,
    /// The code's name, or an explanation.
    pub what: String,
}

impl ZeError {
    pub fn other(call: &'static str, what: impl Into<String>) -> Self {
        ZeError { call, code: 0, what: what.into() }
    }

    fn from_code(call: &'static str, code: u32) -> Self {
        let what = result_name(code).map_or_else(|| format!("ze_result_t {code:#x}"), str::to_owned);
        ZeError { call, code, what }
    }
}

impl std::fmt::Display for ZeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.code {
            0 => write!(f, "{}: {}", self.call, self.what),
            code => write!(f, "{} returned {} ({code:#x})", self.call, self.what),
        }
    }
}

type Result<T> = std::result::Result<T, ZeError>;

/// Declares the table of functions and its loading by name, so that a name cannot be paired with another's type.
macro_rules! api {
    ($($name:ident($($arg:ty),*);)*) => {
        #[allow(non_snake_case)]
        struct Api {
            $($name: unsafe extern "C" fn($($arg),*) -> u32,)*
            /// Keeps the functions' code loaded.
            library: libloading::Library,
        }

        #[allow(non_snake_case)]
        impl Api {
            fn load(library: libloading::Library) -> Result<Self> {
                $(
                    // SAFETY: the symbol has the type that ze_api.h declares for this name.
                    let $name = unsafe {
                        library.get::<unsafe extern "C" fn($($arg),*) -> u32>(concat!(stringify!($name), "\0"))
                    };
                    let $name = match $name {
                        Ok(symbol) => *symbol,
                        Err(error) => return Err(ZeError::other(stringify!($name), error.to_string())),
                    };
                )*
                Ok(Api { $($name,)* library })
            }
        }
    };
}

api! {
    zeInit(u32);
    zeDriverGet(*mut u32, *mut Handle);
    zeDriverGetProperties(Handle, *mut DriverProperties);
    zeDeviceGet(Handle, *mut u32, *mut Handle);
    zeDeviceGetProperties(Handle, *mut DeviceProperties);
    zeDeviceGetMemoryProperties(Handle, *mut u32, *mut DeviceMemoryProperties);
    zeDeviceGetCommandQueueGroupProperties(Handle, *mut u32, *mut CommandQueueGroupProperties);
    zeDevicePciGetPropertiesExt(Handle, *mut PciExtProperties);
    zeContextCreate(Handle, *const ContextDesc, *mut Handle);
    zeContextDestroy(Handle);
    zeModuleCreate(Handle, Handle, *const ModuleDesc, *mut Handle, *mut Handle);
    zeModuleDestroy(Handle);
    zeModuleBuildLogGetString(Handle, *mut usize, *mut c_char);
    zeModuleBuildLogDestroy(Handle);
    zeKernelCreate(Handle, *const KernelDesc, *mut Handle);
    zeKernelDestroy(Handle);
    zeKernelGetProperties(Handle, *mut KernelPropertiesExt);
    zeKernelSetGroupSize(Handle, u32, u32, u32);
    zeKernelSetArgumentValue(Handle, u32, usize, *const c_void);
    zeKernelSetIndirectAccess(Handle, u32);
    zeMemAllocDevice(Handle, *const DeviceMemAllocDesc, usize, usize, Handle, *mut *mut c_void);
    zeMemFree(Handle, *mut c_void);
    zeCommandQueueCreate(Handle, Handle, *const CommandQueueDesc, *mut Handle);
    zeCommandQueueDestroy(Handle);
    zeCommandQueueExecuteCommandLists(Handle, u32, *mut Handle, Handle);
    zeCommandQueueSynchronize(Handle, u64);
    zeCommandListCreate(Handle, Handle, *const CommandListDesc, *mut Handle);
    zeCommandListCreateImmediate(Handle, Handle, *const CommandQueueDesc, *mut Handle);
    zeCommandListClose(Handle);
    zeCommandListReset(Handle);
    zeCommandListDestroy(Handle);
    zeCommandListAppendLaunchKernel(Handle, Handle, *const GroupCount, Handle, u32, *mut Handle);
    zeCommandListAppendMemoryCopy(Handle, *mut c_void, *const c_void, usize, Handle, u32, *mut Handle);
}

/// Calls and turns the code into a result that names the call.
macro_rules! call {
    ($api:expr, $name:ident($($arg:expr),* $(,)?)) => {{
        // SAFETY: handles come from this module's own creation calls and are alive (their owners hold an Rc of the
        // context); pointers are to live locals or slices of the stated size; descriptors carry their type.
        let code = unsafe { ($api.$name)($($arg),*) };
        if code == 0 { Ok(()) } else { Err(ZeError::from_code(stringify!($name), code)) }
    }};
}

/// Set after a failed call: see [`abandon`].
static ABANDONED: AtomicBool = AtomicBool::new(false);

/// From now on nothing is given back to the driver. After a failed call (a lost device, for one) its teardown may
/// hang or crash, and the process is about to end anyway: the result comes first.
pub fn abandon() {
    ABANDONED.store(true, Ordering::Relaxed);
}

/// A call that gives something back. Its failure changes nothing any more.
macro_rules! give_back {
    ($api:expr, $name:ident($($arg:expr),* $(,)?)) => {
        if !ABANDONED.load(Ordering::Relaxed) {
            let _ = call!($api, $name($($arg),*));
        }
    };
}

/// What the driver says of the device.
#[derive(Clone, Debug, Default)]
pub struct DeviceFacts {
    pub name: String,
    pub device_id: u32,
    /// Major, minor and build of `driverVersion` as NEO packs them: 8, 8 and 16 bits.
    pub driver_version: String,
    /// Bytes of the largest memory.
    pub global_memory: u64,
}

/// A context on one device. Everything made from it keeps it alive.
pub struct Context {
    api: Api,
    device: Handle,
    context: Handle,
    pub facts: DeviceFacts,
    groups: Vec<CommandQueueGroupProperties>,
}

fn text(bytes: &[c_char]) -> String {
    let bytes: Vec<u8> = bytes.iter().map(|c| c.cast_unsigned()).take_while(|c| *c != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

impl Context {
    /// Opens the loader, initialises it, and takes the first GPU, or the one at a PCI address.
    pub fn open(loader: &Path, pci: Option<&str>) -> Result<Rc<Self>> {
        // SAFETY: the Level Zero loader's initialisers have no preconditions; the harness names the file.
        let library = unsafe { libloading::Library::new(loader) }
            .map_err(|error| ZeError::other("dlopen", format!("{}: {error}", loader.display())))?;
        let api = Api::load(library)?;
        call!(api, zeInit(INIT_FLAG_GPU_ONLY))?;
        tracer::start_if_wanted(&api.library);
        let drivers = list(null_mut(), |count, items| call!(api, zeDriverGet(count, items)))?;
        let mut seen = Vec::new();
        for driver in drivers {
            let devices = list(null_mut(), |count, items| call!(api, zeDeviceGet(driver, count, items)))?;
            for device in devices {
                let mut properties = DeviceProperties { stype: stype::DEVICE_PROPERTIES, ..zeroed() };
                call!(api, zeDeviceGetProperties(device, &raw mut properties))?;
                if properties.device_type != DEVICE_TYPE_GPU {
                    continue;
                }
                if let Some(wanted) = pci {
                    let mut at = PciExtProperties { stype: stype::PCI_EXT_PROPERTIES, ..zeroed() };
                    call!(api, zeDevicePciGetPropertiesExt(device, &raw mut at))?;
                    let address =
                        format!("{:04x}:{:02x}:{:02x}.{:x}", at.domain, at.bus, at.device, at.function);
                    if !address.eq_ignore_ascii_case(wanted) {
                        seen.push(address);
                        continue;
                    }
                }
                return Context::on(api, driver, device, &properties);
            }
        }
        let wanted = pci.map_or_else(|| "no GPU".to_owned(), |pci| format!("no GPU at {pci}, but {seen:?}"));
        Err(ZeError::other("zeDeviceGet", wanted))
    }

    fn on(api: Api, driver: Handle, device: Handle, properties: &DeviceProperties) -> Result<Rc<Self>> {
        let mut of_driver = DriverProperties { stype: stype::DRIVER_PROPERTIES, ..zeroed() };
        call!(api, zeDriverGetProperties(driver, &raw mut of_driver))?;
        let template = DeviceMemoryProperties { stype: stype::DEVICE_MEMORY_PROPERTIES, ..zeroed() };
        let memories =
            list(template, |count, items| call!(api, zeDeviceGetMemoryProperties(device, count, items)))?;
        let template =
            CommandQueueGroupProperties { stype: stype::COMMAND_QUEUE_GROUP_PROPERTIES, ..zeroed() };
        let groups = list(template, |count, items| {
            call!(api, zeDeviceGetCommandQueueGroupProperties(device, count, items))
        })?;
        let desc = ContextDesc { stype: stype::CONTEXT_DESC, next: null(), flags: 0 };
        let mut context = null_mut();
        call!(api, zeContextCreate(driver, &raw const desc, &raw mut context))?;
        let version = of_driver.driver_version;
        let facts = DeviceFacts {
            name: text(&properties.name),
            device_id: properties.device_id,
            driver_version: format!("{}.{}.{}", version >> 24, (version >> 16) & 0xff, version & 0xffff),
            global_memory: memories.iter().map(|memory| memory.total_size).max().unwrap_or(0),
        };
        Ok(Rc::new(Context { api, device, context, facts, groups }))
    }

    /// Ordinal of the first queue group that can compute.
    pub fn compute_group(&self) -> Result<u32> {
        self.group(|flags| flags & QUEUE_GROUP_COMPUTE != 0, "no queue group computes")
    }

    /// Ordinal of the first queue group that copies and does nothing else.
    pub fn copy_group(&self) -> Result<u32> {
        let copies_only = |flags| flags & QUEUE_GROUP_COPY != 0 && flags & QUEUE_GROUP_COMPUTE == 0;
        self.group(copies_only, "no queue group is for copies only")
    }

    fn group(&self, wanted: impl Fn(u32) -> bool, none: &str) -> Result<u32> {
        let found = self.groups.iter().position(|group| group.num_queues > 0 && wanted(group.flags));
        let ordinal = found.and_then(|ordinal| u32::try_from(ordinal).ok());
        ordinal.ok_or_else(|| ZeError::other("zeDeviceGetCommandQueueGroupProperties", none))
    }

    /// Creates a module; the driver's build log goes with the error.
    pub fn module(self: &Rc<Self>, image: &[u8], spirv: bool) -> Result<Module> {
        let desc = ModuleDesc {
            stype: stype::MODULE_DESC,
            next: null(),
            format: if spirv { MODULE_FORMAT_IL_SPIRV } else { MODULE_FORMAT_NATIVE },
            input_size: image.len(),
            input: image.as_ptr(),
            build_flags: null(),
            constants: null(),
        };
        let (mut module, mut log) = (null_mut(), null_mut());
        let made = call!(
            self.api,
            zeModuleCreate(self.context, self.device, &raw const desc, &raw mut module, &raw mut log)
        );
        let log = self.build_log(log);
        made.map_err(|mut error| {
            if !log.is_empty() {
                error.what = format!("{}: {log}", error.what);
            }
            error
        })?;
        Ok(Module { context: self.clone(), module })
    }

    fn build_log(&self, log: Handle) -> String {
        if log.is_null() {
            return String::new();
        }
        let mut size = 0usize;
        let mut bytes = Vec::new();
        if call!(self.api, zeModuleBuildLogGetString(log, &raw mut size, null_mut())).is_ok()
            && size < 1 << 24
        {
            bytes = vec![0 as c_char; size + 1];
            let read = call!(self.api, zeModuleBuildLogGetString(log, &raw mut size, bytes.as_mut_ptr()));
            if read.is_err() {
                bytes.clear();
            }
        }
        // A log that cannot be destroyed is leaked: the module's own result is what counts.
        let _ = call!(self.api, zeModuleBuildLogDestroy(log));
        text(&bytes).trim().to_owned()
    }

    /// Device memory. Freed when dropped, after everything that used it has finished.
    pub fn allocate(self: &Rc<Self>, bytes: usize) -> Result<Buffer> {
        let desc =
            DeviceMemAllocDesc { stype: stype::DEVICE_MEM_ALLOC_DESC, next: null(), flags: 0, ordinal: 0 };
        let mut address = null_mut();
        call!(
            self.api,
            zeMemAllocDevice(self.context, &raw const desc, bytes, 64, self.device, &raw mut address)
        )?;
        Ok(Buffer { context: self.clone(), address, bytes })
    }

    /// A command list whose operations have finished when they return.
    pub fn queue(self: &Rc<Self>, ordinal: u32, immediate: bool) -> Result<Queue> {
        let mode = if immediate { COMMAND_QUEUE_MODE_SYNCHRONOUS } else { COMMAND_QUEUE_MODE_ASYNCHRONOUS };
        let desc = CommandQueueDesc {
            stype: stype::COMMAND_QUEUE_DESC,
            next: null(),
            ordinal,
            index: 0,
            flags: 0,
            mode,
            priority: 0,
        };
        let (context, device) = (self.context, self.device);
        let mut list = null_mut();
        let mut queue = null_mut();
        if immediate {
            call!(self.api, zeCommandListCreateImmediate(context, device, &raw const desc, &raw mut list))?;
        } else {
            call!(self.api, zeCommandQueueCreate(context, device, &raw const desc, &raw mut queue))?;
            let desc = CommandListDesc { stype: stype::COMMAND_LIST_DESC, next: null(), ordinal, flags: 0 };
            let made = call!(self.api, zeCommandListCreate(context, device, &raw const desc, &raw mut list));
            if let Err(error) = made {
                let _ = call!(self.api, zeCommandQueueDestroy(queue));
                return Err(error);
            }
        }
        Ok(Queue { context: self.clone(), list, queue })
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        give_back!(self.api, zeContextDestroy(self.context));
    }
}

/// A loaded module.
pub struct Module {
    context: Rc<Context>,
    module: Handle,
}

impl Module {
    /// `Ok(None)` if the module has no kernel of this name.
    pub fn kernel(self: &Rc<Self>, name: &str) -> Result<Option<Kernel>> {
        const INVALID_KERNEL_NAME: u32 = 0x7800_0011;
        let c_name = CString::new(name).map_err(|e| ZeError::other("zeKernelCreate", e.to_string()))?;
        let desc = KernelDesc { stype: stype::KERNEL_DESC, next: null(), flags: 0, name: c_name.as_ptr() };
        let mut kernel = null_mut();
        match call!(self.context.api, zeKernelCreate(self.module, &raw const desc, &raw mut kernel)) {
            Ok(()) => {}
            Err(error) if error.code == INVALID_KERNEL_NAME => return Ok(None),
            Err(error) => return Err(error),
        }
        let kernel = Kernel { module: self.clone(), kernel };
        call!(self.context.api, zeKernelSetIndirectAccess(kernel.kernel, INDIRECT_ACCESS_ALL))?;
        Ok(Some(kernel))
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        give_back!(self.context.api, zeModuleDestroy(self.module));
    }
}

/// A kernel with its arguments.
pub struct Kernel {
    module: Rc<Module>,
    kernel: Handle,
}

/// (private, spill, sub-group size) in bytes, bytes, lanes.
pub struct Sizes {
    pub private: u32,
    pub spill: u32,
    pub simd: u32,
}

impl Kernel {
    fn api(&self) -> &Api {
        &self.module.context.api
    }

    pub fn sizes(&self) -> Result<Sizes> {
        let mut properties = KernelPropertiesExt { stype: stype::KERNEL_PROPERTIES, ..zeroed() };
        call!(self.api(), zeKernelGetProperties(self.kernel, &raw mut properties))?;
        let simd = match properties.required_subgroup_size {
            0 => properties.max_subgroup_size,
            required => required,
        };
        Ok(Sizes { private: properties.private_mem_size, spill: properties.spill_mem_size, simd })
    }

    /// Work items of a group, in x.
    pub fn set_group_size(&self, x: u32) -> Result<()> {
        call!(self.api(), zeKernelSetGroupSize(self.kernel, x, 1, 1))
    }

    /// A by-value argument.
    pub fn set_bytes(&self, index: u32, bytes: &[u8]) -> Result<()> {
        call!(self.api(), zeKernelSetArgumentValue(self.kernel, index, bytes.len(), bytes.as_ptr().cast()))
    }

    /// A pointer argument. The buffer must outlive the launches, as the caller's structure has it.
    pub fn set_buffer(&self, index: u32, buffer: &Buffer) -> Result<()> {
        let address = buffer.address;
        call!(
            self.api(),
            zeKernelSetArgumentValue(
                self.kernel,
                index,
                size_of::<*mut c_void>(),
                (&raw const address).cast()
            )
        )
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        give_back!(self.api(), zeKernelDestroy(self.kernel));
    }
}

/// Device memory.
pub struct Buffer {
    context: Rc<Context>,
    address: *mut c_void,
    bytes: usize,
}

impl Buffer {
    /// The address that kernels use.
    pub fn address(&self) -> u64 {
        self.address as u64
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        give_back!(self.context.api, zeMemFree(self.context.context, self.address));
    }
}

/// A command list, immediate and synchronous, or regular with a queue of its own.
pub struct Queue {
    context: Rc<Context>,
    list: Handle,
    /// Null for an immediate list.
    queue: Handle,
}

impl Queue {
    /// Host to device; `from` is read until the call returns.
    pub fn upload(&self, to: &Buffer, offset: usize, from: &[u8]) -> Result<()> {
        let target = inside(to, offset, from.len())?;
        let source = from.as_ptr().cast();
        let appended = call!(
            self.context.api,
            zeCommandListAppendMemoryCopy(self.list, target, source, from.len(), null_mut(), 0, null_mut())
        );
        self.finish(appended)
    }

    /// Device to host.
    pub fn download(&self, to: &mut [u8], from: &Buffer, offset: usize) -> Result<()> {
        let source = inside(from, offset, to.len())?.cast_const();
        let target = to.as_mut_ptr().cast();
        let appended = call!(
            self.context.api,
            zeCommandListAppendMemoryCopy(self.list, target, source, to.len(), null_mut(), 0, null_mut())
        );
        self.finish(appended)
    }

    /// Runs `groups` work groups in x and y.
    pub fn launch(&self, kernel: &Kernel, groups: (u32, u32)) -> Result<()> {
        let count = GroupCount { x: groups.0, y: groups.1, z: 1 };
        let appended = call!(
            self.context.api,
            zeCommandListAppendLaunchKernel(
                self.list,
                kernel.kernel,
                &raw const count,
                null_mut(),
                0,
                null_mut()
            )
        );
        self.finish(appended)
    }

    /// An immediate synchronous list has already run what was appended; a regular one is closed, executed, waited
    /// for and reset.
    fn finish(&self, appended: Result<()>) -> Result<()> {
        appended?;
        if self.queue.is_null() {
            return Ok(());
        }
        let api = &self.context.api;
        let mut list = self.list;
        call!(api, zeCommandListClose(list))?;
        call!(api, zeCommandQueueExecuteCommandLists(self.queue, 1, &raw mut list, null_mut()))?;
        call!(api, zeCommandQueueSynchronize(self.queue, u64::MAX))?;
        call!(api, zeCommandListReset(list))
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        give_back!(self.context.api, zeCommandListDestroy(self.list));
        if !self.queue.is_null() {
            give_back!(self.context.api, zeCommandQueueDestroy(self.queue));
        }
    }
}

/// The address of `offset` in a buffer that has `bytes` from there on.
fn inside(buffer: &Buffer, offset: usize, bytes: usize) -> Result<*mut c_void> {
    match offset.checked_add(bytes) {
        Some(end) if end <= buffer.bytes => Ok(buffer.address.cast::<u8>().wrapping_add(offset).cast()),
        _ => Err(ZeError::other("bounds", format!("{offset} + {bytes} is outside {} bytes", buffer.bytes))),
    }
}

/// The two-call convention: count, then items, each starting as `template`.
fn list<T: Copy>(template: T, mut get: impl FnMut(*mut u32, *mut T) -> Result<()>) -> Result<Vec<T>> {
    let mut count = 0u32;
    get(&raw mut count, null_mut())?;
    // No machine has more of anything; a wild count must not become a wild allocation.
    let mut items = vec![template; (count as usize).min(1 << 16)];
    count = u32::try_from(items.len()).unwrap_or(0);
    get(&raw mut count, items.as_mut_ptr())?;
    items.truncate(count as usize);
    Ok(items)
}

/// Structures that the driver fills in.
///
/// # Safety
/// Zero bytes are a value of every field.
unsafe trait Plain: Copy {}
// SAFETY: numbers, arrays of numbers and a null `pNext`.
unsafe impl Plain for DriverProperties {}
// SAFETY: as above.
unsafe impl Plain for DeviceProperties {}
// SAFETY: as above.
unsafe impl Plain for DeviceMemoryProperties {}
// SAFETY: as above.
unsafe impl Plain for CommandQueueGroupProperties {}
// SAFETY: as above.
unsafe impl Plain for PciExtProperties {}
// SAFETY: as above.
unsafe impl Plain for KernelPropertiesExt {}

fn zeroed<T: Plain>() -> T {
    // SAFETY: that is what `Plain` promises.
    unsafe { std::mem::zeroed() }
}

/// Where nothing else is said: the dynamic linker's own search.
pub fn default_loader() -> &'static Path {
    Path::new("libze_loader.so.1")
}

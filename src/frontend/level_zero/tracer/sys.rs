//! The loader's callbacks (`layers/zel_tracing_api.h` and `zel_tracing_register_cb.h` of the Level Zero loader). Each
//! parameter of a call comes as a pointer to it.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use libloading::Library;

use super::super::abi::Handle;

/// `ZEL_STRUCTURE_TYPE_TRACER_DESC`.
const TRACER_DESC: u32 = 1;
/// `ZEL_REGISTER_EPILOGUE`: after the driver has answered.
const EPILOGUE: u32 = 1;

/// `zel_tracer_desc_t`.
#[repr(C)]
struct TracerDesc {
    stype: u32,
    next: *const c_void,
    user: *mut c_void,
}

/// `ze_kernel_set_argument_value_params_t`.
#[repr(C)]
struct SetArgument {
    kernel: *const Handle,
    index: *const u32,
    size: *const usize,
    value: *const *const c_void,
}

type Callback = unsafe extern "C" fn(*mut SetArgument, u32, *mut c_void, *mut *mut c_void);
type Create = unsafe extern "C" fn(*const TracerDesc, *mut Handle) -> u32;
type Register = unsafe extern "C" fn(Handle, u32, Option<Callback>) -> u32;
type Enable = unsafe extern "C" fn(Handle, u8) -> u32;

/// From now on every successful call is told on stderr, until the process ends. The loader must be initialised.
pub fn start(loader: &Library) -> Result<(), String> {
    // SAFETY: the symbols have the types that the loader's header declares for these names.
    let found = unsafe {
        (|| {
            Ok::<_, libloading::Error>((
                *loader.get::<Create>("zelTracerCreate\0")?,
                *loader.get::<Register>("zelTracerKernelSetArgumentValueRegisterCallback\0")?,
                *loader.get::<Enable>("zelTracerSetEnabled\0")?,
            ))
        })()
    };
    let (create, register, enable) = found.map_err(|error| error.to_string())?;
    // The loader refuses a descriptor without user data; the callback does not look at it.
    static USER: u8 = 0;
    let desc = TracerDesc { stype: TRACER_DESC, next: null(), user: (&raw const USER).cast_mut().cast() };
    let mut tracer = null_mut();
    let check = |call: &str, code: u32| match code {
        0 => Ok(()),
        code => Err(format!("{call} returned 0x{code:x}")),
    };
    // SAFETY: pointers to live locals; the descriptor carries its type.
    check("zelTracerCreate", unsafe { create(&raw const desc, &raw mut tracer) })?;
    // SAFETY: a tracer just made, not yet enabled, and a callback of the declared type that lives as long as the code.
    check("zelTracerKernelSetArgumentValueRegisterCallback", unsafe {
        register(tracer, EPILOGUE, Some(argument_set))
    })?;
    // SAFETY: as above. The tracer is never destroyed: calls are told until the end.
    check("zelTracerSetEnabled", unsafe { enable(tracer, 1) })
}

/// Called by the loader on the caller's thread. It must not unwind: nothing in it panics on any bytes.
unsafe extern "C" fn argument_set(
    params: *mut SetArgument,
    result: u32,
    _user: *mut c_void,
    _instance: *mut *mut c_void,
) {
    // What the driver refused did not become an argument; the loader's own trace tells it.
    if result != 0 || params.is_null() {
        return;
    }
    // SAFETY: the loader passes a structure whose pointers lead to the call's parameters, alive during the callback.
    let (kernel, index, size, value) =
        unsafe { (*(*params).kernel, *(*params).index, *(*params).size, *(*params).value) };
    // SAFETY: the API wants `size` readable bytes at a value that is not null, and the driver has just read them.
    let bytes = (!value.is_null()).then(|| unsafe { std::slice::from_raw_parts(value.cast::<u8>(), size) });
    super::tell(&super::line(kernel as u64, index, size, bytes));
}

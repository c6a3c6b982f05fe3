//! Intel's disassembler, `libiga64`, by its C interface (iga.h). Runs only inside the driver tree's own loader.

use std::ffi::{CStr, c_char, c_void};
use std::mem::size_of;
use std::ptr;

use libloading::{Library, Symbol};

/// `IGA_XE_HPG`.
pub const XE_HPG: u32 = 1 << 24 | 2;

/// `iga_context_options_t`.
#[repr(C)]
struct ContextOptions {
    cb: usize,
    platform: u32,
}

/// `iga_disassemble_options_t`.
#[repr(C)]
struct DisassembleOptions {
    cb: u32,
    formatting: u32,
    reserved: [u32; 2],
    decoder: u32,
    base_pc: u32,
}

const _: () = assert!(size_of::<DisassembleOptions>() == 24);
const _: () = assert!(size_of::<ContextOptions>() == 16);

type Create = unsafe extern "C" fn(*const ContextOptions, *mut *mut c_void) -> i32;
type Disassemble = unsafe extern "C" fn(
    *mut c_void,
    *const DisassembleOptions,
    *const c_void,
    u32,
    *const c_void,
    *const c_void,
    *mut *const c_char,
) -> i32;

/// One context of the library.
pub struct Iga {
    library: Library,
    context: *mut c_void,
}

impl Iga {
    pub fn open(platform: u32) -> Result<Self, String> {
        // SAFETY: the library's constructors have no requirement beyond being loaded once.
        let library = unsafe { Library::new("libiga64.so.2") }.map_err(|error| error.to_string())?;
        let mut context = ptr::null_mut();
        let options = ContextOptions { cb: size_of::<ContextOptions>(), platform };
        // SAFETY: the signature is that of iga.h; both pointers live through the call.
        let status = unsafe {
            let create: Symbol<'_, Create> =
                library.get(b"iga_context_create\0").map_err(|error| error.to_string())?;
            create(&options, &mut context)
        };
        if status != 0 || context.is_null() {
            return Err(format!("iga_context_create: status {status}"));
        }
        Ok(Self { library, context })
    }

    /// The text of `bits`, and whether the library found them all right. `labels`: branch targets as labels.
    pub fn disassemble(&self, bits: &[u8], labels: bool) -> Result<(bool, String), String> {
        let options = DisassembleOptions {
            cb: 24,
            formatting: if labels { 0 } else { 1 },
            reserved: [0; 2],
            decoder: 0,
            base_pc: 0,
        };
        let length = u32::try_from(bits.len()).map_err(|error| error.to_string())?;
        let mut text = ptr::null();
        // SAFETY: the signature is that of iga.h; the context is live; the buffers outlive the call; the text that
        // comes back is a C string owned by the context and copied before the next call.
        unsafe {
            let disassemble: Symbol<'_, Disassemble> =
                self.library.get(b"iga_context_disassemble\0").map_err(|error| error.to_string())?;
            let status = disassemble(
                self.context,
                &options,
                bits.as_ptr().cast(),
                length,
                ptr::null(),
                ptr::null(),
                &mut text,
            );
            let text = if text.is_null() {
                String::new()
            } else {
                CStr::from_ptr(text).to_string_lossy().into_owned()
            };
            Ok((status == 0, text))
        }
    }
}

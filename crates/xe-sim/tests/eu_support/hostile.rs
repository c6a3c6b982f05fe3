//! Memory for kernels that no compiler would make. Used by `eu_hostile` and by the fuzz target `eu`.

use xe_sim::eu::{Access, Fault, GpuMemory};

/// Where the kernel is.
pub const CODE: u64 = 0x1000;

/// The kernel, and one page of data that is everywhere else; the top half of the addresses faults.
pub struct HostileMemory<'a> {
    code: &'a [u8],
    page: [u8; 4096],
}

impl<'a> HostileMemory<'a> {
    pub fn new(code: &'a [u8], fill: u8) -> Self {
        Self { code, page: [fill; 4096] }
    }
}

/// The address of each byte.
fn bytes(addr: u64, len: usize, write: bool) -> impl Iterator<Item = Result<u64, Fault>> {
    (0..len as u64).map(move |i| {
        let addr = addr.wrapping_add(i);
        if addr >> 47 & 1 != 0 { Err(Fault { addr, write }) } else { Ok(addr) }
    })
}

impl GpuMemory for HostileMemory<'_> {
    fn read(&mut self, addr: u64, buf: &mut [u8]) -> Result<Access, Fault> {
        for (at, byte) in bytes(addr, buf.len(), false).zip(buf) {
            let at = at?;
            *byte = match at.checked_sub(CODE) {
                // Behind the kernel there are zeros: the decoder does not look further.
                Some(at) if at < 1 << 20 => self.code.get(at as usize).copied().unwrap_or(0),
                _ => self.page[at as usize & 4095],
            };
        }
        Ok(Access::default())
    }

    fn write(&mut self, addr: u64, data: &[u8]) -> Result<Access, Fault> {
        for (at, byte) in bytes(addr, data.len(), true).zip(data) {
            self.page[at? as usize & 4095] = *byte;
        }
        Ok(Access::default())
    }
}

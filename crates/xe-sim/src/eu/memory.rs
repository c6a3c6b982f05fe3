//! What an executing thread needs from the memory behind it.

/// What an access found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Bytes with nothing behind them: they read as zeros, writes to them vanish.
    pub missed: u64,
}

/// An access that the VM does not forgive (it has no scratch pages).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// First address with nothing behind it.
    pub addr: u64,
    pub write: bool,
}

/// GPU virtual memory as a dispatch sees it. Addresses are 48 bits; the implementation owns the VM's rules.
pub trait GpuMemory {
    /// Fills `buf` from `addr` on.
    ///
    /// # Errors
    /// The VM has no scratch pages and something there is not bound.
    fn read(&mut self, addr: u64, buf: &mut [u8]) -> Result<Access, Fault>;

    /// Stores `data` from `addr` on.
    ///
    /// # Errors
    /// The VM has no scratch pages and something there is not bound.
    fn write(&mut self, addr: u64, data: &[u8]) -> Result<Access, Fault>;

    /// Replaces the `size` bytes (2, 4 or 8) at `addr` by what `update` makes of them, or leaves them for `None`.
    /// Returns the old value. Implementations used from several threads at once must do it in one step.
    ///
    /// # Errors
    /// As for reads and writes.
    fn atomic(
        &mut self,
        addr: u64,
        size: usize,
        update: &mut dyn FnMut(u64) -> Option<u64>,
    ) -> Result<(u64, Access), Fault> {
        let mut bytes = [0u8; 8];
        let size = size.min(bytes.len());
        let (head, _) = bytes.split_at_mut(size);
        let mut access = self.read(addr, head)?;
        let old = u64::from_le_bytes(bytes);
        if let Some(new) = update(old) {
            let new = new.to_le_bytes();
            access.missed = access.missed.max(self.write(addr, new.split_at(size).0)?.missed);
        }
        Ok((old, access))
    }
}

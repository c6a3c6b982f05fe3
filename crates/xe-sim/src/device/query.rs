//! DEVICE_QUERY: everything a driver asks before it does anything.

use super::queue::class_number;
use super::{Device, EINVAL, fail, require};
use crate::client::{Caller, Errno};
use crate::cs::ticks_of_ns;
use crate::profile::Family;
use crate::trace::clock_ns;
use crate::uapi::ioc;
use crate::uapi::wire::{Argument, DeviceQuery, EngineCycles};

const ENODEV: Errno = fail(libc::ENODEV);

/// Builds little-endian structs in the order of the header.
#[derive(Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn u16(&mut self, v: u16) -> &mut Self {
        self.0.extend(v.to_le_bytes());
        self
    }

    fn u32(&mut self, v: u32) -> &mut Self {
        self.0.extend(v.to_le_bytes());
        self
    }

    fn u64(&mut self, v: u64) -> &mut Self {
        self.0.extend(v.to_le_bytes());
        self
    }

    fn zeros(&mut self, n: usize) -> &mut Self {
        self.0.resize(self.0.len() + n, 0);
        self
    }
}

impl Device {
    /// Two calls as in the kernel: with size 0 it returns the size, with that very size the data.
    pub(super) fn device_query(&mut self, caller: &Caller, a: &mut Argument) -> Result<(), Errno> {
        let mut q = DeviceQuery::load(a);
        require(q.extensions() == 0 && q.reserved0() == 0 && q.reserved1() == 0)?;
        let answer = match q.query() {
            0 => self.engines(),
            1 => self.mem_regions(),
            2 => self.config(),
            3 => self.gt_list(),
            4 => self.hwconfig(),
            5 => self.gt_topology(),
            6 => return self.engine_cycles(caller, &mut q, a),
            7 => return self.uc_fw_version(caller, &mut q, a),
            8 => return Err(self.unsupported(caller.file, ioc::XE_DEVICE_QUERY, "OA units", ENODEV)),
            // No protected content on these cards (xe: `xe_pxp_is_supported`).
            9 => return Err(ENODEV),
            10 if self.profile.family == Family::XeHpg => return Err(ENODEV),
            10 => {
                return Err(self.unsupported(caller.file, ioc::XE_DEVICE_QUERY, "EU stall sampling", ENODEV));
            }
            _ => return Err(EINVAL),
        };
        let size = u32::try_from(answer.len()).map_err(|_| EINVAL)?;
        if q.size() == 0 {
            q.set_size(size);
            q.store(a);
            return Ok(());
        }
        require(q.size() == size)?;
        self.mem.write(caller.process, q.data(), &answer)
    }

    /// `struct drm_xe_query_engines`.
    fn engines(&self) -> Vec<u8> {
        let engines = self.profile.engines;
        let mut out = Bytes::default();
        out.u32(engines.len() as u32).u32(0);
        for e in engines {
            out.u16(class_number(e.class)).u16(e.instance).u16(e.gt).u16(0).zeros(24);
        }
        out.0
    }

    /// `struct drm_xe_query_mem_regions`: system memory, then VRAM.
    fn mem_regions(&self) -> Vec<u8> {
        let p = self.profile;
        let vram_used = self.usage.vram.min(p.vram_bytes);
        // What does not fit VRAM was evicted.
        let system_used = self.usage.system + (self.usage.vram - vram_used);
        let mut out = Bytes::default();
        out.u32(2).u32(0);
        out.u16(0).u16(0).u32(4096).u64(p.sysmem_bytes).u64(system_used).u64(0).u64(0).zeros(48);
        out.u16(1).u16(1).u32(p.vram_page).u64(p.vram_bytes).u64(vram_used);
        out.u64(p.vram_bytes).u64(vram_used).zeros(48);
        out.0
    }

    /// `struct drm_xe_query_config`.
    fn config(&self) -> Vec<u8> {
        let p = self.profile;
        let id = u64::from(p.pci.device) | u64::from(p.pci.revision) << 16;
        let info = [id, p.config_flags, u64::from(p.vram_page), u64::from(p.va_bits), 2];
        let mut out = Bytes::default();
        out.u32(info.len() as u32).u32(0);
        for value in info {
            out.u64(value);
        }
        out.0
    }

    /// `struct drm_xe_query_gt_list`.
    fn gt_list(&self) -> Vec<u8> {
        let gts = self.profile.gts;
        let mut out = Bytes::default();
        out.u32(gts.len() as u32).u32(0);
        for gt in gts {
            out.u16(gt.kind).u16(gt.tile).u16(gt.id).zeros(6).u32(gt.reference_clock);
            out.u64(gt.near_regions).u64(gt.far_regions);
            out.u16(gt.ip[0]).u16(gt.ip[1]).u16(gt.ip[2]).u16(0).zeros(56);
        }
        out.0
    }

    /// The GuC's table: key, number of values, values.
    fn hwconfig(&self) -> Vec<u8> {
        let mut out = Bytes::default();
        for (key, values) in self.profile.hwconfig {
            out.u32(*key).u32(values.len() as u32);
            for value in *values {
                out.u32(*value);
            }
        }
        out.0
    }

    /// A sequence of `struct drm_xe_query_topology_mask`.
    fn gt_topology(&self) -> Vec<u8> {
        let mut out = Bytes::default();
        for t in self.profile.topology {
            out.u16(t.gt).u16(t.kind).u32(t.mask.len() as u32);
            out.0.extend(t.mask);
        }
        out.0
    }

    fn engine_cycles(&mut self, caller: &Caller, q: &mut DeviceQuery, a: &mut Argument) -> Result<(), Errno> {
        if q.size() == 0 {
            q.set_size(EngineCycles::SIZE as u32);
            q.store(a);
            return Ok(());
        }
        require(q.size() == EngineCycles::SIZE as u32)?;
        let mut c = EngineCycles::zeroed();
        self.mem.read(caller.process, q.data(), &mut c.0)?;
        // xe takes MONOTONIC, MONOTONIC_RAW, REALTIME, BOOTTIME and TAI.
        require(c.pad() == 0 && matches!(c.clockid(), 0 | 1 | 4 | 7 | 11))?;
        let exists = |e: &crate::profile::Engine| {
            (class_number(e.class), e.instance, e.gt) == (c.class(), c.instance(), c.gt())
        };
        require(self.profile.engines.iter().any(exists))?;
        let clock = |id| clock_ns(nix::time::ClockId::from_raw(id));
        let before = clock(c.clockid()).ok_or(EINVAL)?;
        let cycles = ticks_of_ns(clock(libc::CLOCK_MONOTONIC_RAW).ok_or(EINVAL)?);
        let after = clock(c.clockid()).ok_or(EINVAL)?;
        let width = if self.profile.family == Family::XeHpg { 36 } else { 64 };
        c.set_width(width);
        c.set_cycles(if width == 64 { cycles } else { cycles & ((1 << width) - 1) });
        c.set_cpu_timestamp(before);
        c.set_cpu_delta(after.saturating_sub(before));
        self.mem.write(caller.process, q.data(), &c.0)
    }

    /// `struct drm_xe_query_uc_fw_version`; only the GuC is there.
    fn uc_fw_version(&mut self, caller: &Caller, q: &mut DeviceQuery, a: &mut Argument) -> Result<(), Errno> {
        const SIZE: u32 = 32;
        if q.size() == 0 {
            q.set_size(SIZE);
            q.store(a);
            return Ok(());
        }
        require(q.size() == SIZE)?;
        let mut head = [0; 32];
        self.mem.read(caller.process, q.data(), &mut head)?;
        let kind = u16::from_le_bytes([head[0], head[1]]);
        require(head[2..].iter().all(|b| *b == 0))?;
        match kind {
            0 => {
                let mut out = Bytes::default();
                out.u16(0).u16(0);
                for part in self.profile.guc {
                    out.u32(part);
                }
                out.zeros(12);
                self.mem.write(caller.process, q.data(), &out.0)
            }
            1 => Err(ENODEV),
            _ => Err(EINVAL),
        }
    }
}

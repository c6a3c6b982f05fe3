//! Requests of the DRM core: VERSION, GET_CAP.

use super::{Device, EINVAL};
use crate::client::{Caller, Errno};
use crate::uapi::wire::{Argument, GetCap, Version};

const NAME: &str = "xe";
const DATE: &str = "20201103";
const DESCRIPTION: &str = "Intel Xe Graphics";

impl Device {
    /// xe reports version 1.1.0. Each text is cut to the client's buffer; the full length is returned.
    pub(super) fn version(&mut self, caller: &Caller, a: &mut Argument) -> Result<(), Errno> {
        let mut v = Version::load(a);
        v.set_major(1);
        v.set_minor(1);
        v.set_patch(0);
        for (text, pointer, room) in [
            (NAME, v.name(), v.name_len()),
            (DATE, v.date(), v.date_len()),
            (DESCRIPTION, v.desc(), v.desc_len()),
        ] {
            let n = text.len().min(usize::try_from(room).unwrap_or(usize::MAX));
            if n > 0 && pointer != 0 {
                self.mem.write(caller.process, pointer, text.as_bytes().get(..n).unwrap_or_default())?;
            }
        }
        v.set_name_len(NAME.len() as u64);
        v.set_date_len(DATE.len() as u64);
        v.set_desc_len(DESCRIPTION.len() as u64);
        v.store(a);
        Ok(())
    }

    pub(super) fn get_cap(&mut self, a: &mut Argument) -> Result<(), Errno> {
        let mut cap = GetCap::load(a);
        cap.set_value(match cap.capability() {
            // TIMESTAMP_MONOTONIC, SYNCOBJ, SYNCOBJ_TIMELINE
            0x6 | 0x13 | 0x14 => 1,
            // PRIME: neither import nor export is modelled.
            0x5 => 0,
            // The others belong to mode setting, which a render-only driver does not have.
            _ => return Err(EINVAL),
        });
        cap.store(a);
        Ok(())
    }
}

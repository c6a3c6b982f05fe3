//! The structs of the user API as byte arrays with named fields at the header's offsets.

/// Size of the largest argument of any request modelled here (`struct drm_xe_vm_bind`).
pub const MAX_ARGUMENT: usize = 136;

/// The kernel's copy of a request's argument, zero filled as `drm_ioctl()` does.
pub type Argument = [u8; MAX_ARGUMENT];

/// Defines a struct of `size` bytes whose little-endian fields lie at given byte offsets.
macro_rules! wire {
    ($(#[$doc:meta])* $name:ident, $size:literal { $($get:ident / $set:ident : $ty:ty = $off:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub struct $name(pub [u8; $size]);

        #[allow(dead_code)]
        impl $name {
            pub const SIZE: usize = $size;

            pub fn zeroed() -> $name {
                $name([0; $size])
            }

            /// The struct at the start of a request's argument.
            pub fn load(argument: &Argument) -> $name {
                const { assert!($size <= MAX_ARGUMENT) };
                let mut bytes = [0; $size];
                bytes.copy_from_slice(&argument[..$size]);
                $name(bytes)
            }

            pub fn store(&self, argument: &mut Argument) {
                argument[..$size].copy_from_slice(&self.0);
            }

            $(
                pub fn $get(&self) -> $ty {
                    const { assert!($off + size_of::<$ty>() <= $size) };
                    let mut bytes = [0; size_of::<$ty>()];
                    bytes.copy_from_slice(&self.0[$off..$off + size_of::<$ty>()]);
                    <$ty>::from_le_bytes(bytes)
                }

                pub fn $set(&mut self, value: $ty) {
                    self.0[$off..$off + size_of::<$ty>()].copy_from_slice(&value.to_le_bytes());
                }
            )*
        }
    };
}

wire! {
    /// `struct drm_version`.
    Version, 64 {
        major / set_major: i32 = 0, minor / set_minor: i32 = 4, patch / set_patch: i32 = 8,
        name_len / set_name_len: u64 = 16, name / set_name: u64 = 24,
        date_len / set_date_len: u64 = 32, date / set_date: u64 = 40,
        desc_len / set_desc_len: u64 = 48, desc / set_desc: u64 = 56,
    }
}
wire! {
    /// `struct drm_get_cap`.
    GetCap, 16 { capability / set_capability: u64 = 0, value / set_value: u64 = 8 }
}
wire! {
    /// `struct drm_gem_close`.
    GemClose, 8 { handle / set_handle: u32 = 0, pad / set_pad: u32 = 4 }
}
wire! {
    /// `struct drm_xe_device_query`.
    DeviceQuery, 40 {
        extensions / set_extensions: u64 = 0, query / set_query: u32 = 8, size / set_size: u32 = 12,
        data / set_data: u64 = 16, reserved0 / set_reserved0: u64 = 24, reserved1 / set_reserved1: u64 = 32,
    }
}
wire! {
    /// `struct drm_xe_gem_create`.
    GemCreate, 56 {
        extensions / set_extensions: u64 = 0, size / set_size: u64 = 8, placement / set_placement: u32 = 16,
        flags / set_flags: u32 = 20, vm_id / set_vm_id: u32 = 24, handle / set_handle: u32 = 28,
        cpu_caching / set_cpu_caching: u16 = 32, pad0 / set_pad0: u16 = 34, pad12 / set_pad12: u32 = 36,
        reserved0 / set_reserved0: u64 = 40, reserved1 / set_reserved1: u64 = 48,
    }
}
wire! {
    /// `struct drm_xe_gem_mmap_offset`.
    MmapOffset, 40 {
        extensions / set_extensions: u64 = 0, handle / set_handle: u32 = 8, flags / set_flags: u32 = 12,
        offset / set_offset: u64 = 16, reserved0 / set_reserved0: u64 = 24, reserved1 / set_reserved1: u64 = 32,
    }
}
wire! {
    /// `struct drm_xe_vm_create`.
    VmCreate, 32 {
        extensions / set_extensions: u64 = 0, flags / set_flags: u32 = 8, vm_id / set_vm_id: u32 = 12,
        reserved0 / set_reserved0: u64 = 16, reserved1 / set_reserved1: u64 = 24,
    }
}
wire! {
    /// `struct drm_xe_vm_destroy` and `struct drm_xe_exec_queue_destroy` (same shape).
    Destroy, 24 {
        id / set_id: u32 = 0, pad / set_pad: u32 = 4,
        reserved0 / set_reserved0: u64 = 8, reserved1 / set_reserved1: u64 = 16,
    }
}
wire! {
    /// `struct drm_xe_vm_bind_op`.
    BindOp, 80 {
        extensions / set_extensions: u64 = 0, obj / set_obj: u32 = 8, pat_index / set_pat_index: u16 = 12,
        pad / set_pad: u16 = 14, obj_offset / set_obj_offset: u64 = 16, range / set_range: u64 = 24,
        addr / set_addr: u64 = 32, op / set_op: u32 = 40, flags / set_flags: u32 = 44,
        prefetch_region / set_prefetch_region: u32 = 48, pad2 / set_pad2: u32 = 52,
        reserved0 / set_reserved0: u64 = 56, reserved1 / set_reserved1: u64 = 64, reserved2 / set_reserved2: u64 = 72,
    }
}
wire! {
    /// `struct drm_xe_vm_bind`, without the union at 24 (one op in place, or the address of an array).
    VmBind, 136 {
        extensions / set_extensions: u64 = 0, vm_id / set_vm_id: u32 = 8, exec_queue_id / set_exec_queue_id: u32 = 12,
        pad / set_pad: u32 = 16, num_binds / set_num_binds: u32 = 20, vector / set_vector: u64 = 24,
        pad2 / set_pad2: u32 = 104, num_syncs / set_num_syncs: u32 = 108, syncs / set_syncs: u64 = 112,
        reserved0 / set_reserved0: u64 = 120, reserved1 / set_reserved1: u64 = 128,
    }
}
wire! {
    /// `struct drm_xe_sync`. `addr` and `handle` share their place.
    Sync, 48 {
        extensions / set_extensions: u64 = 0, kind / set_kind: u32 = 8, flags / set_flags: u32 = 12,
        handle / set_handle: u32 = 16, addr / set_addr: u64 = 16, value / set_value: u64 = 24,
        reserved0 / set_reserved0: u64 = 32, reserved1 / set_reserved1: u64 = 40,
    }
}
wire! {
    /// `struct drm_xe_exec_queue_create`.
    QueueCreate, 48 {
        extensions / set_extensions: u64 = 0, width / set_width: u16 = 8, num_placements / set_num_placements: u16 = 10,
        vm_id / set_vm_id: u32 = 12, flags / set_flags: u32 = 16, exec_queue_id / set_exec_queue_id: u32 = 20,
        instances / set_instances: u64 = 24, reserved0 / set_reserved0: u64 = 32, reserved1 / set_reserved1: u64 = 40,
    }
}
wire! {
    /// `struct drm_xe_engine_class_instance`.
    EngineInstance, 8 {
        class / set_class: u16 = 0, instance / set_instance: u16 = 2, gt / set_gt: u16 = 4, pad / set_pad: u16 = 6,
    }
}
wire! {
    /// `struct drm_xe_ext_set_property`.
    ExtSetProperty, 48 {
        next / set_next: u64 = 0, name / set_name: u32 = 8, pad / set_pad: u32 = 12,
        property / set_property: u32 = 16, pad2 / set_pad2: u32 = 20, value / set_value: u64 = 24,
        reserved0 / set_reserved0: u64 = 32, reserved1 / set_reserved1: u64 = 40,
    }
}
wire! {
    /// `struct drm_xe_exec_queue_get_property`; SET_PROPERTY has the same shape.
    QueueProperty, 40 {
        extensions / set_extensions: u64 = 0, exec_queue_id / set_exec_queue_id: u32 = 8,
        property / set_property: u32 = 12, value / set_value: u64 = 16,
        reserved0 / set_reserved0: u64 = 24, reserved1 / set_reserved1: u64 = 32,
    }
}
wire! {
    /// `struct drm_xe_exec`.
    Exec, 56 {
        extensions / set_extensions: u64 = 0, exec_queue_id / set_exec_queue_id: u32 = 8,
        num_syncs / set_num_syncs: u32 = 12, syncs / set_syncs: u64 = 16, address / set_address: u64 = 24,
        num_batch_buffer / set_num_batch_buffer: u16 = 32, pad0 / set_pad0: u16 = 34, pad12 / set_pad12: u32 = 36,
        reserved0 / set_reserved0: u64 = 40, reserved1 / set_reserved1: u64 = 48,
    }
}
wire! {
    /// `struct drm_xe_wait_user_fence`.
    WaitUserFence, 72 {
        extensions / set_extensions: u64 = 0, addr / set_addr: u64 = 8, op / set_op: u16 = 16,
        flags / set_flags: u16 = 18, pad / set_pad: u32 = 20, value / set_value: u64 = 24, mask / set_mask: u64 = 32,
        timeout / set_timeout: i64 = 40, exec_queue_id / set_exec_queue_id: u32 = 48, pad2 / set_pad2: u32 = 52,
        reserved0 / set_reserved0: u64 = 56, reserved1 / set_reserved1: u64 = 64,
    }
}
wire! {
    /// `struct drm_xe_madvise`.
    Madvise, 64 {
        extensions / set_extensions: u64 = 0, start / set_start: u64 = 8, range / set_range: u64 = 16,
        vm_id / set_vm_id: u32 = 24, kind / set_kind: u32 = 28, value / set_value: u32 = 32,
        reserved0 / set_reserved0: u64 = 48, reserved1 / set_reserved1: u64 = 56,
    }
}
wire! {
    /// `struct drm_xe_vm_get_property`.
    VmGetProperty, 56 {
        extensions / set_extensions: u64 = 0, vm_id / set_vm_id: u32 = 8, property / set_property: u32 = 12,
        size / set_size: u32 = 16, pad / set_pad: u32 = 20, data / set_data: u64 = 24,
    }
}
wire! {
    /// `struct drm_xe_query_engine_cycles`.
    EngineCycles, 40 {
        class / set_class: u16 = 0, instance / set_instance: u16 = 2, gt / set_gt: u16 = 4, pad / set_pad: u16 = 6,
        clockid / set_clockid: i32 = 8, width / set_width: u32 = 12, cycles / set_cycles: u64 = 16,
        cpu_timestamp / set_cpu_timestamp: u64 = 24, cpu_delta / set_cpu_delta: u64 = 32,
    }
}
wire! {
    /// `struct drm_syncobj_create` / `_destroy` (handle, then flags or pad).
    SyncobjHandle, 8 { handle / set_handle: u32 = 0, flags / set_flags: u32 = 4 }
}
wire! {
    /// `struct drm_syncobj_create`: the flags come second there too, in `_create` handle is an output.
    SyncobjArray, 16 { handles / set_handles: u64 = 0, count / set_count: u32 = 8, pad / set_pad: u32 = 12 }
}
wire! {
    /// `struct drm_syncobj_timeline_array`.
    SyncobjTimelineArray, 24 {
        handles / set_handles: u64 = 0, points / set_points: u64 = 8, count / set_count: u32 = 16,
        flags / set_flags: u32 = 20,
    }
}
wire! {
    /// `struct drm_syncobj_wait`.
    SyncobjWait, 40 {
        handles / set_handles: u64 = 0, timeout / set_timeout: i64 = 8, count / set_count: u32 = 16,
        flags / set_flags: u32 = 20, first_signaled / set_first_signaled: u32 = 24, pad / set_pad: u32 = 28,
    }
}
wire! {
    /// `struct drm_syncobj_timeline_wait`.
    SyncobjTimelineWait, 48 {
        handles / set_handles: u64 = 0, points / set_points: u64 = 8, timeout / set_timeout: i64 = 16,
        count / set_count: u32 = 24, flags / set_flags: u32 = 28, first_signaled / set_first_signaled: u32 = 32,
        pad / set_pad: u32 = 36,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::uapi::ioc;

    /// The number of a request carries `sizeof` its struct as the C compiler saw it.
    #[test]
    fn wire_sizes_equal_the_sizes_in_the_request_numbers() {
        let pairs = [
            (ioc::VERSION, Version::SIZE),
            (ioc::GET_CAP, GetCap::SIZE),
            (ioc::GEM_CLOSE, GemClose::SIZE),
            (ioc::XE_DEVICE_QUERY, DeviceQuery::SIZE),
            (ioc::XE_GEM_CREATE, GemCreate::SIZE),
            (ioc::XE_GEM_MMAP_OFFSET, MmapOffset::SIZE),
            (ioc::XE_VM_CREATE, VmCreate::SIZE),
            (ioc::XE_VM_DESTROY, Destroy::SIZE),
            (ioc::XE_VM_BIND, VmBind::SIZE),
            (ioc::XE_EXEC_QUEUE_CREATE, QueueCreate::SIZE),
            (ioc::XE_EXEC_QUEUE_DESTROY, Destroy::SIZE),
            (ioc::XE_EXEC_QUEUE_GET_PROPERTY, QueueProperty::SIZE),
            (ioc::XE_EXEC, Exec::SIZE),
            (ioc::XE_WAIT_USER_FENCE, WaitUserFence::SIZE),
            (ioc::XE_MADVISE, Madvise::SIZE),
            (ioc::XE_EXEC_QUEUE_SET_PROPERTY, QueueProperty::SIZE),
            (ioc::XE_VM_GET_PROPERTY, VmGetProperty::SIZE),
            (ioc::SYNCOBJ_CREATE, SyncobjHandle::SIZE),
            (ioc::SYNCOBJ_DESTROY, SyncobjHandle::SIZE),
            (ioc::SYNCOBJ_WAIT, SyncobjWait::SIZE),
            (ioc::SYNCOBJ_RESET, SyncobjArray::SIZE),
            (ioc::SYNCOBJ_TIMELINE_WAIT, SyncobjTimelineWait::SIZE),
            (ioc::SYNCOBJ_QUERY, SyncobjTimelineArray::SIZE),
        ];
        for (nr, size) in pairs {
            let spec = ioc::spec(nr).expect("known request");
            let request = ioc::Request::decode(spec.cmd);
            assert_eq!((request.size, request.nr, request.kind), (size, nr, b'd'), "{}", spec.name);
        }
    }

    /// Struct sizes and offsets printed by gcc from linux-libc-dev's xe_drm.h.
    #[test]
    fn wire_offsets_are_those_of_the_c_compiler() {
        assert_eq!((BindOp::SIZE, Sync::SIZE, EngineCycles::SIZE, ExtSetProperty::SIZE), (80, 48, 40, 48));
        let mut bind = VmBind::zeroed();
        bind.set_num_syncs(7);
        assert_eq!(bind.0[108], 7);
        let mut exec = Exec::zeroed();
        exec.set_num_batch_buffer(1);
        assert_eq!(exec.0[32], 1);
        let mut wait = WaitUserFence::zeroed();
        wait.set_timeout(-1);
        wait.set_exec_queue_id(9);
        assert_eq!((wait.0[40], wait.0[47], wait.0[48]), (0xff, 0xff, 9));
        let mut queue = QueueCreate::zeroed();
        queue.set_instances(0x55);
        assert_eq!(queue.0[24], 0x55);
        let mut gem = GemCreate::zeroed();
        gem.set_cpu_caching(2);
        assert_eq!(gem.0[32], 2);
    }
}

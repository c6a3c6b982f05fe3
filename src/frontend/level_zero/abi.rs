//! The parts of the Level Zero API that the reproducer uses, as plain data. Source: `level_zero/ze_api.h` v1.17
//! (`ze_pci_*`: zeDevicePciGetPropertiesExt in the same header).

use std::ffi::{c_char, c_void};

/// `ze_structure_type_t`.
pub mod stype {
    pub const DRIVER_PROPERTIES: u32 = 0x1;
    pub const DEVICE_PROPERTIES: u32 = 0x3;
    pub const COMMAND_QUEUE_GROUP_PROPERTIES: u32 = 0x6;
    pub const DEVICE_MEMORY_PROPERTIES: u32 = 0x7;
    pub const CONTEXT_DESC: u32 = 0xd;
    pub const COMMAND_QUEUE_DESC: u32 = 0xe;
    pub const COMMAND_LIST_DESC: u32 = 0xf;
    pub const DEVICE_MEM_ALLOC_DESC: u32 = 0x15;
    pub const MODULE_DESC: u32 = 0x1b;
    pub const KERNEL_DESC: u32 = 0x1d;
    pub const KERNEL_PROPERTIES: u32 = 0x1e;
    pub const PCI_EXT_PROPERTIES: u32 = 0x10008;
}

pub const INIT_FLAG_GPU_ONLY: u32 = 1;
pub const DEVICE_TYPE_GPU: u32 = 1;
pub const MODULE_FORMAT_IL_SPIRV: u32 = 0;
pub const MODULE_FORMAT_NATIVE: u32 = 1;
pub const COMMAND_QUEUE_MODE_SYNCHRONOUS: u32 = 1;
pub const COMMAND_QUEUE_MODE_ASYNCHRONOUS: u32 = 2;
pub const QUEUE_GROUP_COMPUTE: u32 = 1;
pub const QUEUE_GROUP_COPY: u32 = 2;
/// HOST | DEVICE | SHARED: a runtime sets all three, since pointers may hide in any argument.
pub const INDIRECT_ACCESS_ALL: u32 = 7;

pub type Handle = *mut c_void;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct DriverProperties {
    pub stype: u32,
    pub next: *mut c_void,
    pub uuid: [u8; 16],
    pub driver_version: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct DeviceProperties {
    pub stype: u32,
    pub next: *mut c_void,
    pub device_type: u32,
    pub vendor_id: u32,
    pub device_id: u32,
    pub flags: u32,
    pub subdevice_id: u32,
    pub core_clock_rate: u32,
    pub max_mem_alloc_size: u64,
    pub max_hardware_contexts: u32,
    pub max_command_queue_priority: u32,
    pub num_threads_per_eu: u32,
    pub physical_eu_simd_width: u32,
    pub num_eus_per_subslice: u32,
    pub num_subslices_per_slice: u32,
    pub num_slices: u32,
    pub timer_resolution: u64,
    pub timestamp_valid_bits: u32,
    pub kernel_timestamp_valid_bits: u32,
    pub uuid: [u8; 16],
    pub name: [c_char; 256],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct DeviceMemoryProperties {
    pub stype: u32,
    pub next: *mut c_void,
    pub flags: u32,
    pub max_clock_rate: u32,
    pub max_bus_width: u32,
    pub total_size: u64,
    pub name: [c_char; 256],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct CommandQueueGroupProperties {
    pub stype: u32,
    pub next: *mut c_void,
    pub flags: u32,
    pub max_memory_fill_pattern_size: usize,
    pub num_queues: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PciExtProperties {
    pub stype: u32,
    pub next: *mut c_void,
    pub domain: u32,
    pub bus: u32,
    pub device: u32,
    pub function: u32,
    pub generation: i32,
    pub width: i32,
    pub max_bandwidth: i64,
}

#[repr(C)]
pub struct ContextDesc {
    pub stype: u32,
    pub next: *const c_void,
    pub flags: u32,
}

#[repr(C)]
pub struct ModuleDesc {
    pub stype: u32,
    pub next: *const c_void,
    pub format: u32,
    pub input_size: usize,
    pub input: *const u8,
    pub build_flags: *const c_char,
    pub constants: *const c_void,
}

#[repr(C)]
pub struct KernelDesc {
    pub stype: u32,
    pub next: *const c_void,
    pub flags: u32,
    pub name: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct KernelPropertiesExt {
    pub stype: u32,
    pub next: *mut c_void,
    pub num_kernel_args: u32,
    pub required_group_size: [u32; 3],
    pub required_num_sub_groups: u32,
    pub required_subgroup_size: u32,
    pub max_subgroup_size: u32,
    pub max_num_subgroups: u32,
    pub local_mem_size: u32,
    pub private_mem_size: u32,
    pub spill_mem_size: u32,
    /// Kernel and module ids, 16 bytes each.
    pub uuid: [u8; 32],
}

#[repr(C)]
pub struct CommandQueueDesc {
    pub stype: u32,
    pub next: *const c_void,
    pub ordinal: u32,
    pub index: u32,
    pub flags: u32,
    pub mode: u32,
    pub priority: u32,
}

#[repr(C)]
pub struct CommandListDesc {
    pub stype: u32,
    pub next: *const c_void,
    pub ordinal: u32,
    pub flags: u32,
}

#[repr(C)]
pub struct DeviceMemAllocDesc {
    pub stype: u32,
    pub next: *const c_void,
    pub flags: u32,
    pub ordinal: u32,
}

#[repr(C)]
pub struct GroupCount {
    pub x: u32,
    pub y: u32,
    pub z: u32,
}

/// `ze_result_t` names of codes that a driver gives; others are shown as numbers.
pub fn result_name(code: u32) -> Option<&'static str> {
    Some(match code {
        0 => "ZE_RESULT_SUCCESS",
        1 => "ZE_RESULT_NOT_READY",
        0x7000_0001 => "ZE_RESULT_ERROR_DEVICE_LOST",
        0x7000_0002 => "ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY",
        0x7000_0003 => "ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY",
        0x7000_0004 => "ZE_RESULT_ERROR_MODULE_BUILD_FAILURE",
        0x7000_0005 => "ZE_RESULT_ERROR_MODULE_LINK_FAILURE",
        0x7000_0006 => "ZE_RESULT_ERROR_DEVICE_REQUIRES_RESET",
        0x7000_0007 => "ZE_RESULT_ERROR_DEVICE_IN_LOW_POWER_STATE",
        0x7001_0000 => "ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS",
        0x7001_0001 => "ZE_RESULT_ERROR_NOT_AVAILABLE",
        0x7002_0000 => "ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE",
        0x7800_0001 => "ZE_RESULT_ERROR_UNINITIALIZED",
        0x7800_0002 => "ZE_RESULT_ERROR_UNSUPPORTED_VERSION",
        0x7800_0003 => "ZE_RESULT_ERROR_UNSUPPORTED_FEATURE",
        0x7800_0004 => "ZE_RESULT_ERROR_INVALID_ARGUMENT",
        0x7800_0005 => "ZE_RESULT_ERROR_INVALID_NULL_HANDLE",
        0x7800_0006 => "ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE",
        0x7800_0007 => "ZE_RESULT_ERROR_INVALID_NULL_POINTER",
        0x7800_0008 => "ZE_RESULT_ERROR_INVALID_SIZE",
        0x7800_0009 => "ZE_RESULT_ERROR_UNSUPPORTED_SIZE",
        0x7800_000a => "ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT",
        0x7800_000c => "ZE_RESULT_ERROR_INVALID_ENUMERATION",
        0x7800_000d => "ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION",
        0x7800_000f => "ZE_RESULT_ERROR_INVALID_NATIVE_BINARY",
        0x7800_0011 => "ZE_RESULT_ERROR_INVALID_KERNEL_NAME",
        0x7800_0013 => "ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION",
        0x7800_0015 => "ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX",
        0x7800_0016 => "ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE",
        0x7800_0018 => "ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED",
        0x7800_0019 => "ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE",
        0x7800_001a => "ZE_RESULT_ERROR_OVERLAPPING_REGIONS",
        0x7fff_fffe => "ZE_RESULT_ERROR_UNKNOWN",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{offset_of, size_of};

    // sizeof and offsetof of a C program over ze_api.h v1.17-r1.17.24, gcc 12, x86-64.
    #[test]
    fn sizes_are_those_of_the_c_header() {
        assert_eq!(size_of::<DriverProperties>(), 40);
        assert_eq!(size_of::<DeviceProperties>(), 368);
        assert_eq!(size_of::<DeviceMemoryProperties>(), 296);
        assert_eq!(size_of::<CommandQueueGroupProperties>(), 40);
        assert_eq!(size_of::<PciExtProperties>(), 48);
        assert_eq!(size_of::<ContextDesc>(), 24);
        assert_eq!(size_of::<ModuleDesc>(), 56);
        assert_eq!(size_of::<KernelDesc>(), 32);
        assert_eq!(size_of::<KernelPropertiesExt>(), 96);
        assert_eq!(size_of::<CommandQueueDesc>(), 40);
        assert_eq!(size_of::<CommandListDesc>(), 24);
        assert_eq!(size_of::<DeviceMemAllocDesc>(), 24);
        assert_eq!(size_of::<GroupCount>(), 12);
    }

    #[test]
    fn offsets_are_those_of_the_c_header() {
        assert_eq!(offset_of!(DriverProperties, uuid), 16);
        assert_eq!(offset_of!(DriverProperties, driver_version), 32);
        assert_eq!(offset_of!(DeviceProperties, device_type), 16);
        assert_eq!(offset_of!(DeviceProperties, device_id), 24);
        assert_eq!(offset_of!(DeviceProperties, max_mem_alloc_size), 40);
        assert_eq!(offset_of!(DeviceProperties, num_threads_per_eu), 56);
        assert_eq!(offset_of!(DeviceProperties, num_slices), 72);
        assert_eq!(offset_of!(DeviceProperties, timer_resolution), 80);
        assert_eq!(offset_of!(DeviceProperties, uuid), 96);
        assert_eq!(offset_of!(DeviceProperties, name), 112);
        assert_eq!(offset_of!(DeviceMemoryProperties, total_size), 32);
        assert_eq!(offset_of!(CommandQueueGroupProperties, flags), 16);
        assert_eq!(offset_of!(CommandQueueGroupProperties, num_queues), 32);
        assert_eq!(offset_of!(ModuleDesc, input_size), 24);
        assert_eq!(offset_of!(ModuleDesc, constants), 48);
        assert_eq!(offset_of!(KernelDesc, name), 24);
        assert_eq!(offset_of!(KernelPropertiesExt, required_subgroup_size), 36);
        assert_eq!(offset_of!(KernelPropertiesExt, private_mem_size), 52);
        assert_eq!(offset_of!(KernelPropertiesExt, spill_mem_size), 56);
        assert_eq!(offset_of!(KernelPropertiesExt, uuid), 60);
        assert_eq!(offset_of!(CommandQueueDesc, mode), 28);
        assert_eq!(offset_of!(CommandListDesc, flags), 20);
        assert_eq!(offset_of!(DeviceMemAllocDesc, ordinal), 20);
        assert_eq!(offset_of!(PciExtProperties, max_bandwidth), 40);
    }
}

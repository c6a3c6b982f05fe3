//! The DRM and xe user API as bytes: request numbers, structs, constants.
//!
//! Source of every number here: `drm/drm.h` and `drm/xe_drm.h` (linux-libc-dev).

pub mod ioc;
pub mod wire;

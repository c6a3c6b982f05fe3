//! A simulated xe DRM device for the real, unmodified Intel compute driver.
//!
//! The client (any program that uses the driver) runs under a seccomp user-notification filter. A supervisor in
//! this crate answers its file-system calls for the device's nodes and its DRM ioctls from a model of the xe
//! kernel driver. Nothing here knows of matrices, arms or verdicts: the crate can be used and tested alone.
//!
//! It is a model, **not a security boundary**: the supervisor reads the client's memory after the client has
//! passed it, so a hostile client can change it in between.
//!
//! Layers, top to bottom: [`trap`] (notifier, device files, client memory) → [`uapi`] (structs and numbers) →
//! [`device`] (VM, BO, exec queue, fence) → [`cs`] (command streamer) → [`oracle`] (residency), `launch` (a dispatch) →
//! [`eu`] (execution units) → [`isa`] (instructions); all → [`trace`].

pub mod arena;
pub mod client;
pub mod cs;
pub mod device;
pub mod eu;
pub mod fault;
pub mod isa;
mod launch;
pub mod oracle;
pub mod profile;
pub mod testkit;
pub mod trace;
pub mod trap;
pub mod uapi;

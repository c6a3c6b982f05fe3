//! The truth table: a few small enums in, the kind of verdict out. Every combination is named; there is no
//! wildcard, so a new value does not compile until somebody has decided what it means.

use crate::model::verdict::Basis;

/// How the run ended, as far as the verdict cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Exit code 0: the reproducer found nothing wrong.
    Success,
    /// Exit code 1: it found wrong elements.
    Found,
    OtherCode,
    /// A signal that programs die of by their own fault.
    Signal,
    /// KILL or TERM that was not ours (the kernel's out-of-memory killer, a person).
    OutsideKill,
    Hung,
    Flood,
    NotStarted,
    Interrupted,
}

/// What the reproducer's own account amounts to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Story {
    Complete,
    /// Initialisation failed: there was no driver or no device to test.
    NoDriver,
    Lost,
    /// The driver did not take the module.
    ModuleRefused,
    /// Another driver call failed.
    Refused,
    /// The reproducer failed outside the driver.
    OwnFault,
    Missing,
    Garbled,
}

/// What the output elements say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataSays {
    /// The device does not execute kernels: the elements mean nothing.
    NotModelled,
    Right,
    WrongAfter,
    WrongBefore,
    /// A check is missing.
    Incomplete,
}

/// What the simulated device's oracle says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceSays {
    /// A real device: there is no oracle.
    Absent,
    /// No trace, a cut one, or one with losses.
    Incomplete,
    /// The trace is whole and still does not show what it must.
    Undecided,
    /// Everything the last dispatches point at was bound.
    Bound,
    HazardBefore,
    HazardAfter,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Identity {
    Proved,
    /// Another driver build was loaded.
    Other,
    Unproved,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeysSay {
    AsAsked,
    /// A key was not echoed by the driver.
    Unknown,
    /// Keys were set and the driver's echo was not observed at all.
    NotObservable,
}

/// The copies between the two kernel runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    AsAsked,
    NotAsAsked,
}

/// The faults that the device was to inject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultsSay {
    /// There are none, or each rule fired.
    AsAsked,
    /// A rule never fired: what it is to show was not tried.
    NotInjected,
}

/// Everything the table looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reduced {
    pub ending: Ending,
    pub story: Story,
    pub data: DataSays,
    pub device: DeviceSays,
    pub identity: Identity,
    pub keys: KeysSay,
    pub trigger: Trigger,
    pub faults: FaultsSay,
    /// The device model refused something for lack of support.
    pub unsupported: bool,
    /// An instrument of ours did not work.
    pub broken: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Untestable {
    OtherDriver,
    DriverNotProved,
    NoDriver,
    CallFailed,
    KeyUnknown,
    KeysNotObservable,
    FaultNotInjected,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ours {
    Interrupted,
    NotStarted,
    Flood,
    Instrument,
    KilledFromOutside,
    DeviceModel,
    Reproducer,
    NoResult,
    TriggerNotRun,
    ExitContradicts,
    Trace,
    Undecided,
    DataIncomplete,
    Contradiction,
}

/// A verdict without its numbers and words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Clean(Basis),
    Corrupt(Basis),
    WrongBefore(Basis),
    Hang,
    Crash,
    DeviceLost,
    BuildFailed,
    Untestable(Untestable),
    HarnessError(Ours),
}

use Kind::HarnessError as Fault;

/// The rules, first that applies.
pub fn decide(r: &Reduced) -> Kind {
    // 1. Ends that leave nothing to judge.
    match r.ending {
        Ending::Interrupted => return Fault(Ours::Interrupted),
        Ending::NotStarted => return Fault(Ours::NotStarted),
        Ending::Flood => return Fault(Ours::Flood),
        Ending::Success
        | Ending::Found
        | Ending::OtherCode
        | Ending::Signal
        | Ending::OutsideKill
        | Ending::Hung => {}
    }
    // 2. A broken instrument of ours, then the wrong thing under test.
    if r.broken {
        return Fault(Ours::Instrument);
    }
    match r.identity {
        Identity::Other => return Kind::Untestable(Untestable::OtherDriver),
        Identity::Proved | Identity::Unproved => {}
    }
    // 3. Ends that are the verdict.
    match r.ending {
        Ending::OutsideKill => Fault(Ours::KilledFromOutside),
        Ending::Hung => match (r.identity, r.unsupported) {
            (Identity::Proved, false) => keys_then(r, Kind::Hang),
            // What the model lacks may be what the driver waits for.
            (Identity::Proved, true) => Fault(Ours::DeviceModel),
            (Identity::Unproved | Identity::Other, _) => Kind::Untestable(Untestable::DriverNotProved),
        },
        // The driver may die before anything could be read of it: the crash itself is no less one.
        Ending::Signal if r.unsupported => Fault(Ours::DeviceModel),
        Ending::Signal => Kind::Crash,
        Ending::Success | Ending::Found | Ending::OtherCode => by_story(r),
        Ending::Interrupted | Ending::NotStarted | Ending::Flood => Fault(Ours::Instrument),
    }
}

fn by_story(r: &Reduced) -> Kind {
    match r.story {
        Story::NoDriver => Kind::Untestable(Untestable::NoDriver),
        Story::Lost if r.unsupported => Fault(Ours::DeviceModel),
        Story::Lost => Kind::DeviceLost,
        Story::ModuleRefused => Kind::BuildFailed,
        Story::Refused if r.unsupported => Fault(Ours::DeviceModel),
        Story::Refused => Kind::Untestable(Untestable::CallFailed),
        Story::OwnFault => Fault(Ours::Reproducer),
        Story::Missing | Story::Garbled => Fault(Ours::NoResult),
        Story::Complete => complete(r),
    }
}

/// A verdict that is worth nothing if the keys under test did not take effect.
fn keys_then(r: &Reduced, kind: Kind) -> Kind {
    match r.keys {
        KeysSay::Unknown => Kind::Untestable(Untestable::KeyUnknown),
        KeysSay::NotObservable => Kind::Untestable(Untestable::KeysNotObservable),
        KeysSay::AsAsked => kind,
    }
}

/// The reproducer went through all its steps.
fn complete(r: &Reduced) -> Kind {
    match r.identity {
        Identity::Unproved | Identity::Other => return Kind::Untestable(Untestable::DriverNotProved),
        Identity::Proved => {}
    }
    match r.trigger {
        Trigger::NotAsAsked => return Fault(Ours::TriggerNotRun),
        Trigger::AsAsked => {}
    }
    match (r.ending, r.data) {
        (Ending::Success, DataSays::WrongAfter | DataSays::WrongBefore)
        | (Ending::Found, DataSays::Right) => {
            return Fault(Ours::ExitContradicts);
        }
        (Ending::Success, DataSays::Right | DataSays::NotModelled | DataSays::Incomplete)
        | (
            Ending::Found,
            DataSays::WrongAfter | DataSays::WrongBefore | DataSays::NotModelled | DataSays::Incomplete,
        ) => {}
        (
            Ending::OtherCode
            | Ending::Signal
            | Ending::OutsideKill
            | Ending::Hung
            | Ending::Flood
            | Ending::NotStarted
            | Ending::Interrupted,
            _,
        ) => return Fault(Ours::ExitContradicts),
    }
    keys_then(r, faults_then(r, by_evidence(r)))
}

/// "It stands the fault" is worth nothing where there was none. What goes wrong without it goes wrong all the same.
fn faults_then(r: &Reduced, kind: Kind) -> Kind {
    match (r.faults, kind) {
        (FaultsSay::NotInjected, Kind::Clean(_)) => Kind::Untestable(Untestable::FaultNotInjected),
        (
            FaultsSay::NotInjected,
            Kind::Corrupt(_)
            | Kind::WrongBefore(_)
            | Kind::Hang
            | Kind::Crash
            | Kind::DeviceLost
            | Kind::BuildFailed
            | Kind::Untestable(_)
            | Kind::HarnessError(_),
        )
        | (FaultsSay::AsAsked, _) => kind,
    }
}

/// Data against device. `unsupported` voids whatever only the model's own execution speaks for.
fn by_evidence(r: &Reduced) -> Kind {
    use DataSays as D;
    use DeviceSays as V;
    match (r.data, r.device) {
        (D::NotModelled | D::Right | D::WrongAfter | D::WrongBefore | D::Incomplete, V::Incomplete) => {
            Fault(Ours::Trace)
        }
        (D::NotModelled | D::Right | D::WrongAfter | D::WrongBefore | D::Incomplete, V::Undecided) => {
            Fault(Ours::Undecided)
        }
        (D::Incomplete, V::Absent | V::Bound | V::HazardBefore | V::HazardAfter) => {
            Fault(Ours::DataIncomplete)
        }

        (D::NotModelled, V::Absent) => Fault(Ours::DataIncomplete),
        (D::NotModelled, V::Bound) => unless(r.unsupported, Kind::Clean(Basis::Residency)),
        (D::NotModelled, V::HazardAfter) => Kind::Corrupt(Basis::Residency),
        (D::NotModelled, V::HazardBefore) => Kind::WrongBefore(Basis::Residency),

        (D::Right, V::Absent) => unless(r.unsupported, Kind::Clean(Basis::Data)),
        (D::Right, V::Bound) => unless(r.unsupported, Kind::Clean(Basis::Both)),
        // Both come from our own model: one of them is wrong.
        (D::Right, V::HazardBefore | V::HazardAfter) => Fault(Ours::Contradiction),

        (D::WrongAfter, V::Absent | V::Bound | V::HazardBefore) => {
            unless(r.unsupported, Kind::Corrupt(Basis::Data))
        }
        (D::WrongAfter, V::HazardAfter) => Kind::Corrupt(Basis::Both),

        (D::WrongBefore, V::Absent | V::Bound | V::HazardAfter) => {
            unless(r.unsupported, Kind::WrongBefore(Basis::Data))
        }
        (D::WrongBefore, V::HazardBefore) => Kind::WrongBefore(Basis::Both),
    }
}

fn unless(unsupported: bool, kind: Kind) -> Kind {
    if unsupported { Fault(Ours::DeviceModel) } else { kind }
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;

//! Every combination of the table's inputs (about 200,000), against rules that are stated apart from it.

use super::*;

const ENDINGS: [Ending; 9] = [
    Ending::Success,
    Ending::Found,
    Ending::OtherCode,
    Ending::Signal,
    Ending::OutsideKill,
    Ending::Hung,
    Ending::Flood,
    Ending::NotStarted,
    Ending::Interrupted,
];
const STORIES: [Story; 8] = [
    Story::Complete,
    Story::NoDriver,
    Story::Lost,
    Story::ModuleRefused,
    Story::Refused,
    Story::OwnFault,
    Story::Missing,
    Story::Garbled,
];
const DATA: [DataSays; 5] = [
    DataSays::NotModelled,
    DataSays::Right,
    DataSays::WrongAfter,
    DataSays::WrongBefore,
    DataSays::Incomplete,
];
const DEVICE: [DeviceSays; 6] = [
    DeviceSays::Absent,
    DeviceSays::Incomplete,
    DeviceSays::Undecided,
    DeviceSays::Bound,
    DeviceSays::HazardBefore,
    DeviceSays::HazardAfter,
];
const IDENTITY: [Identity; 3] = [Identity::Proved, Identity::Other, Identity::Unproved];
const KEYS: [KeysSay; 3] = [KeysSay::AsAsked, KeysSay::Unknown, KeysSay::NotObservable];
const FAULTS: [FaultsSay; 2] = [FaultsSay::AsAsked, FaultsSay::NotInjected];
const TRIGGER: [Trigger; 2] = [Trigger::AsAsked, Trigger::NotAsAsked];

fn all(mut check: impl FnMut(&Reduced, Kind)) {
    for ending in ENDINGS {
        for story in STORIES {
            for data in DATA {
                for device in DEVICE {
                    for identity in IDENTITY {
                        for keys in KEYS {
                            for trigger in TRIGGER {
                                for bits in 0..8 {
                                    let r = Reduced {
                                        ending,
                                        story,
                                        data,
                                        device,
                                        identity,
                                        keys,
                                        trigger,
                                        faults: FAULTS[bits >> 2],
                                        unsupported: bits & 1 != 0,
                                        broken: bits & 2 != 0,
                                    };
                                    check(&r, decide(&r));
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// What must hold before anything is said of the driver's behaviour at work.
fn sound(r: &Reduced) -> bool {
    matches!(r.ending, Ending::Success | Ending::Found)
        && r.story == Story::Complete
        && r.identity == Identity::Proved
        && r.keys == KeysSay::AsAsked
        && r.trigger == Trigger::AsAsked
        && !r.broken
        && r.data != DataSays::Incomplete
        && !matches!(r.device, DeviceSays::Incomplete | DeviceSays::Undecided)
}

#[test]
fn clean_needs_every_instrument_sound_and_none_against_it() {
    let mut seen = 0;
    all(|r, kind| {
        let Kind::Clean(basis) = kind else { return };
        seen += 1;
        assert!(sound(r), "{r:?}");
        assert_eq!(r.faults, FaultsSay::AsAsked);
        assert!(!r.unsupported, "{r:?}");
        assert!(!matches!(r.device, DeviceSays::HazardAfter | DeviceSays::HazardBefore), "{r:?}");
        assert!(!matches!(r.data, DataSays::WrongAfter | DataSays::WrongBefore), "{r:?}");
        match basis {
            Basis::Data => assert_eq!((r.data, r.device), (DataSays::Right, DeviceSays::Absent)),
            Basis::Residency => assert_eq!((r.data, r.device), (DataSays::NotModelled, DeviceSays::Bound)),
            Basis::Both => assert_eq!((r.data, r.device), (DataSays::Right, DeviceSays::Bound)),
        }
    });
    // Data: real device. Residency: exit 0 or 1 (the exit status rests on unmodelled data). Both: exit 0.
    assert_eq!(seen, 4);
}

#[test]
fn corrupt_and_wrong_before_need_evidence_on_their_side() {
    all(|r, kind| match kind {
        Kind::Corrupt(_) => {
            assert!(sound(r), "{r:?}");
            let data = r.data == DataSays::WrongAfter;
            let hazard = r.data == DataSays::NotModelled && r.device == DeviceSays::HazardAfter;
            assert!(data || hazard, "{r:?}");
            assert!(!(r.unsupported && r.device != DeviceSays::HazardAfter), "{r:?}");
        }
        Kind::WrongBefore(_) => {
            assert!(sound(r), "{r:?}");
            assert!(r.data == DataSays::WrongBefore || r.device == DeviceSays::HazardBefore, "{r:?}");
        }
        _ => {}
    });
}

#[test]
fn sound_evidence_of_a_fault_is_never_lost() {
    all(|r, kind| {
        // Exit status and data may contradict each other: that is a verdict of its own.
        let consistent = match r.data {
            DataSays::NotModelled => true,
            DataSays::Right => r.ending == Ending::Success,
            DataSays::WrongAfter | DataSays::WrongBefore | DataSays::Incomplete => r.ending == Ending::Found,
        };
        if sound(r) && consistent && r.device == DeviceSays::HazardAfter && r.data != DataSays::Right {
            assert!(
                matches!(kind, Kind::Corrupt(_) | Kind::WrongBefore(_)) || r.unsupported,
                "{r:?} {kind:?}"
            );
        }
        if sound(r) && consistent && r.data == DataSays::WrongAfter && !r.unsupported {
            assert!(matches!(kind, Kind::Corrupt(_)), "{r:?} {kind:?}");
        }
    });
}

#[test]
fn another_driver_says_nothing_of_this_one() {
    all(|r, kind| {
        if r.identity == Identity::Other {
            assert!(matches!(kind, Kind::Untestable(_) | Kind::HarnessError(_)), "{r:?} {kind:?}");
        }
        if kind == Kind::Hang {
            assert_eq!((r.ending, r.identity, r.unsupported), (Ending::Hung, Identity::Proved, false));
        }
        if kind == Kind::Crash {
            assert_eq!(r.ending, Ending::Signal);
        }
        if r.broken {
            assert!(matches!(kind, Kind::HarnessError(_)), "{r:?} {kind:?}");
        }
    });
}

#[test]
fn rows_of_the_table_in_the_cases_that_matter() {
    let base = Reduced {
        ending: Ending::Success,
        story: Story::Complete,
        data: DataSays::Right,
        device: DeviceSays::Absent,
        identity: Identity::Proved,
        keys: KeysSay::AsAsked,
        trigger: Trigger::AsAsked,
        faults: FaultsSay::AsAsked,
        unsupported: false,
        broken: false,
    };
    let sim = Reduced { data: DataSays::NotModelled, device: DeviceSays::Bound, ..base };
    let rows = [
        (base, Kind::Clean(Basis::Data)),
        (sim, Kind::Clean(Basis::Residency)),
        (Reduced { data: DataSays::Right, ..sim }, Kind::Clean(Basis::Both)),
        (Reduced { device: DeviceSays::HazardAfter, ..sim }, Kind::Corrupt(Basis::Residency)),
        // The mock data check fails where nothing executes: the exit status says nothing.
        (Reduced { ending: Ending::Found, ..sim }, Kind::Clean(Basis::Residency)),
        (
            Reduced {
                ending: Ending::Found,
                data: DataSays::WrongAfter,
                device: DeviceSays::HazardAfter,
                ..base
            },
            Kind::Corrupt(Basis::Both),
        ),
        (
            Reduced { device: DeviceSays::HazardAfter, unsupported: true, ..sim },
            Kind::Corrupt(Basis::Residency),
        ),
        (Reduced { unsupported: true, ..sim }, Kind::HarnessError(Ours::DeviceModel)),
        (Reduced { faults: FaultsSay::NotInjected, ..sim }, Kind::Untestable(Untestable::FaultNotInjected)),
        (
            Reduced { faults: FaultsSay::NotInjected, device: DeviceSays::HazardAfter, ..sim },
            Kind::Corrupt(Basis::Residency),
        ),
        (Reduced { data: DataSays::WrongAfter, ..base }, Kind::HarnessError(Ours::ExitContradicts)),
        (Reduced { identity: Identity::Unproved, ..base }, Kind::Untestable(Untestable::DriverNotProved)),
        (Reduced { keys: KeysSay::Unknown, ..base }, Kind::Untestable(Untestable::KeyUnknown)),
        (Reduced { trigger: Trigger::NotAsAsked, ..base }, Kind::HarnessError(Ours::TriggerNotRun)),
        (Reduced { ending: Ending::Hung, story: Story::Missing, ..base }, Kind::Hang),
        (Reduced { ending: Ending::Signal, story: Story::Missing, ..base }, Kind::Crash),
        (
            Reduced { ending: Ending::OtherCode, story: Story::NoDriver, ..base },
            Kind::Untestable(Untestable::NoDriver),
        ),
        (Reduced { ending: Ending::OtherCode, story: Story::Lost, ..base }, Kind::DeviceLost),
        (Reduced { story: Story::Missing, ..base }, Kind::HarnessError(Ours::NoResult)),
    ];
    for (input, kind) in rows {
        assert_eq!(decide(&input), kind, "{input:?}");
    }
}

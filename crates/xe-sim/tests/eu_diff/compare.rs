//! What differs between two runs of a kernel.

use super::kernel::{Case, Check, Data, Slot};

/// Lines about the differences, the first of each slot; empty if there are none.
pub fn differences(case: &Case, ours: &Data, theirs: &Data) -> Vec<String> {
    let mut found = Vec::new();
    for slot in &case.slots {
        let items = 0..case.items();
        let wrong: Vec<usize> = items.filter(|item| !same(case, slot, ours, theirs, *item)).collect();
        if let Some(first) = wrong.first() {
            let (a, b) = (value(case, slot, ours, *first), value(case, slot, theirs, *first));
            found.push(format!(
                "{} {} at +{}: {} of {} items differ, first item {first}: {}, reference {}",
                slot.ty,
                if slot.check == Check::Bits { "bits" } else { "float" },
                slot.at,
                wrong.len(),
                case.items(),
                show(slot, a),
                show(slot, b),
            ));
        }
    }
    let covered = |at: usize| {
        let at = at % case.stride.max(1);
        case.slots.iter().any(|slot| (slot.at..slot.at + room(slot)).contains(&at))
    };
    // Bytes between the slots have to stay as they were.
    if (0..ours.out.len()).any(|at| !covered(at) && ours.out[at] != theirs.out[at]) {
        found.push("the output between the slots differs".into());
    }
    for (name, size, a, b) in [("at", 4, &ours.at, &theirs.at), ("at64", 8, &ours.at64, &theirs.at64)] {
        let mut words = a.chunks(size).zip(b.chunks(size)).enumerate();
        if let Some((i, (a, b))) = words.find(|(_, (a, b))| a != b) {
            found.push(format!("{name}[{i}]: {}, reference {}", hex(a), hex(b)));
        }
    }
    found
}

fn room(slot: &Slot) -> usize {
    if slot.check == Check::Bits { slot.ty.bytes() } else { 8 }
}

fn value<'a>(case: &Case, slot: &Slot, data: &'a Data, item: usize) -> &'a [u8] {
    &data.out[item * case.stride + slot.at..][..room(slot)]
}

fn same(case: &Case, slot: &Slot, ours: &Data, theirs: &Data, item: usize) -> bool {
    let (ours, theirs) = (value(case, slot, ours, item), value(case, slot, theirs, item));
    match slot.check {
        Check::Bits => ours == theirs,
        // Alike bit by bit: a work-item that ended before it wrote.
        Check::Ulp(limit) => within(float(ours), double(theirs), limit) || ours == theirs,
    }
}

fn float(bytes: &[u8]) -> f32 {
    f32::from_le_bytes(bytes[..4].try_into().expect("four bytes"))
}

fn double(bytes: &[u8]) -> f64 {
    f64::from_le_bytes(bytes[..8].try_into().expect("eight bytes"))
}

/// Is `ours` at most `limit` units in the last place of an `f32` away from `exact`?
fn within(ours: f32, exact: f64, limit: u32) -> bool {
    if exact.is_nan() || ours.is_nan() {
        return exact.is_nan() && ours.is_nan();
    }
    let near = exact as f32;
    if near.is_infinite() || ours.is_infinite() {
        // Beyond the largest number by less than the limit, either may come out.
        let largest = f64::from(f32::MAX);
        let room = f64::from(limit) * 2f64.powi(104);
        return near == ours
            || (exact.abs() >= largest - room
                && exact.abs() <= largest + room
                && ours.is_sign_positive() == (exact > 0.0));
    }
    // The unit between the two floats around the exact value.
    let magnitude = exact.abs().max(f64::from(f32::MIN_POSITIVE));
    let unit = 2f64.powi(magnitude.log2().floor() as i32 - 23);
    // The reference is itself a rounded value: far finer than a unit.
    (f64::from(ours) - exact).abs() <= (f64::from(limit) + 1e-3) * unit
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().rev().map(|byte| format!("{byte:02x}")).collect()
}

/// Elements, the first first; floats by their bits and as numbers.
fn show(slot: &Slot, bytes: &[u8]) -> String {
    match slot.check {
        Check::Ulp(_) => format!("{:e} or {:e} ({})", float(bytes), double(bytes), hex(bytes)),
        Check::Bits => bytes.chunks(slot.ty.s.bytes()).map(hex).collect::<Vec<_>>().join(" "),
    }
}

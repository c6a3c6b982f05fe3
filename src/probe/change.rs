//! One change of an arm: what a search varies. A changed arm has an id of its own, `over/file-r+kernels=173`.

use serde::{Deserialize, Serialize};

use crate::matrix::units::Size;
use crate::matrix::validate::limits::{LARGEST_BATCH, MOST_KERNELS, MOST_PADDING};
use crate::model::arm::{Arm, FrontEnd, SourceKind};

/// A number of an arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Field {
    Kernels,
    PlainKernels,
    BatchSize,
    Padding,
    Copies,
    Chunk,
    Rounds,
    Guard,
    Ballast,
    Elements,
    SourceSize,
}

impl Field {
    pub const ALL: [(&'static str, Field); 11] = [
        ("kernels", Field::Kernels),
        ("plain_kernels", Field::PlainKernels),
        ("batch_size", Field::BatchSize),
        ("padding", Field::Padding),
        ("copies", Field::Copies),
        ("chunk", Field::Chunk),
        ("repeat", Field::Rounds),
        ("guard", Field::Guard),
        ("ballast", Field::Ballast),
        ("elements", Field::Elements),
        ("source_size", Field::SourceSize),
    ];

    /// The name that the matrix file uses.
    pub fn name(self) -> &'static str {
        Field::ALL.iter().find(|(_, field)| *field == self).map_or("", |(name, _)| name)
    }

    pub fn by_name(name: &str) -> Option<Field> {
        let name = name.replace('-', "_").to_ascii_lowercase();
        // The names of the report.
        let name = match name.as_str() {
            "bloat_n" => "kernels",
            other => other,
        };
        Field::ALL.iter().find(|(known, _)| *known == name).map(|(_, field)| *field)
    }

    /// Counted in bytes.
    pub fn is_size(self) -> bool {
        matches!(self, Field::Chunk | Field::Guard | Field::Ballast | Field::SourceSize)
    }

    /// Legal values differ by this.
    pub fn step(self) -> u64 {
        match self {
            Field::BatchSize => 8,
            Field::Chunk => 4,
            Field::Guard | Field::Ballast | Field::SourceSize => 4096,
            Field::Elements => 2,
            Field::Kernels | Field::PlainKernels | Field::Padding | Field::Copies | Field::Rounds => 1,
        }
    }

    pub fn get(self, arm: &Arm) -> u64 {
        match self {
            Field::Kernels => arm.variant.kernels.into(),
            Field::PlainKernels => arm.variant.plain_kernels.into(),
            Field::BatchSize => arm.variant.batch_size.into(),
            Field::Padding => arm.variant.padding.into(),
            Field::Copies => arm.workload.copies.into(),
            Field::Chunk => arm.workload.chunk,
            Field::Rounds => arm.workload.repeat.into(),
            Field::Guard => arm.workload.guard,
            Field::Ballast => arm.workload.ballast,
            Field::Elements => arm.workload.elements.into(),
            Field::SourceSize => arm.source.size,
        }
    }

    /// Smallest and largest value that the matrix file allows.
    pub fn limits(self) -> (u64, u64) {
        match self {
            Field::Kernels => (1, MOST_KERNELS.into()),
            Field::PlainKernels => (0, MOST_KERNELS.into()),
            Field::BatchSize => (8, LARGEST_BATCH.into()),
            Field::Padding => (0, MOST_PADDING.into()),
            Field::Copies => (1, 10_000_000),
            Field::Rounds => (1, 100_000),
            Field::Elements => (2, 1 << 28),
            Field::Chunk => (4, 1 << 40),
            Field::Guard | Field::Ballast => (0, 1 << 40),
            Field::SourceSize => (4096, 1 << 40),
        }
    }

    pub fn show(self, value: u64) -> String {
        if self.is_size() { Size::show(value) } else { value.to_string() }
    }

    fn set(self, arm: &mut Arm, value: u64) -> Result<(), String> {
        let (least, most) = self.limits();
        let step = self.step();
        if !(least..=most).contains(&value) {
            return Err(format!(
                "{} is {} to {}, not {value}",
                self.name(),
                self.show(least),
                self.show(most)
            ));
        }
        if !value.is_multiple_of(step) {
            return Err(format!("{} is a multiple of {step}, not {value}", self.name()));
        }
        // In range, so the fields of 32 bits lose nothing.
        let small = |target: &mut u32| *target = u32::try_from(value).unwrap_or(u32::MAX);
        match self {
            Field::Kernels => small(&mut arm.variant.kernels),
            Field::PlainKernels => small(&mut arm.variant.plain_kernels),
            Field::BatchSize => small(&mut arm.variant.batch_size),
            Field::Padding => small(&mut arm.variant.padding),
            Field::Copies => small(&mut arm.workload.copies),
            Field::Rounds => small(&mut arm.workload.repeat),
            Field::Elements => small(&mut arm.workload.elements),
            Field::Chunk => arm.workload.chunk = value,
            Field::Guard => arm.workload.guard = value,
            Field::Ballast => arm.workload.ballast = value,
            Field::SourceSize => arm.source.size = value,
        }
        let needs = arm.workload.chunk.saturating_mul(2);
        if arm.source.kind != SourceKind::None && arm.source.size < needs {
            // The reproducer copies from two regions; the matrix file asks for the same.
            arm.source.size = needs.next_multiple_of(4096);
        }
        Ok(())
    }

    /// What is built depends on it.
    fn of_variant(self) -> bool {
        matches!(self, Field::Kernels | Field::PlainKernels | Field::BatchSize | Field::Padding)
    }
}

/// One change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    Set(Field, u64),
    /// Another driver build of the store.
    Driver(String),
    /// Another SYCL runtime: a version, `icpx` or `default`.
    Runtime(String),
    /// A debug key set, or (`None`) taken away.
    Key(String, Option<String>),
    /// A fault rule of the simulated device.
    Fault(String),
    /// A flag of the workload turned off or on, by its name in the matrix file.
    Flag(String, bool),
}

impl Change {
    /// The arm with the change, or why it cannot have it. Its expectation goes: it was of the arm as written.
    pub fn apply(&self, arm: &Arm) -> Result<Arm, String> {
        let mut changed = Arm { expect: None, positive_control: false, ..arm.clone() };
        match self {
            Change::Set(field, value) => {
                field.set(&mut changed, *value)?;
                if field.of_variant() {
                    changed.variant.name = format!("{}+{}={value}", changed.variant.name, field.name());
                }
            }
            Change::Driver(name) => changed.driver = name.clone(),
            Change::Runtime(name) => {
                if arm.variant.front_end != FrontEnd::Sycl {
                    return Err(format!("{} is no SYCL arm: it has no runtime", arm.id));
                }
                changed.runtime = Some(name.clone());
            }
            Change::Key(key, value) => {
                match value {
                    Some(value) => drop(changed.keys.keys.insert(key.clone(), value.clone())),
                    None => drop(changed.keys.keys.remove(key)),
                }
                changed.keys.name = format!("{}{self}", changed.keys.name);
            }
            Change::Fault(rule) => changed.faults.push(rule.clone()),
            Change::Flag(name, on) => *flag(&mut changed, name).ok_or(format!("no flag {name}"))? = *on,
        }
        changed.id = format!("{}{self}", arm.id);
        Ok(changed)
    }
}

/// Flags of the workload that a search may turn.
pub const FLAGS: [&str; 3] = ["same_src", "one_alloc", "late_module"];

fn flag<'a>(arm: &'a mut Arm, name: &str) -> Option<&'a mut bool> {
    match name {
        "same_src" => Some(&mut arm.workload.same_src),
        "one_alloc" => Some(&mut arm.workload.one_alloc),
        "late_module" => Some(&mut arm.workload.late_module),
        _ => None,
    }
}

/// Whether a flag of [`FLAGS`] is on.
pub fn flag_of(arm: &Arm, name: &str) -> Option<bool> {
    let mut copy = arm.clone();
    flag(&mut copy, name).map(|on| *on)
}

/// As it stands in the id.
impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Change::Set(field, value) => write!(f, "+{}={value}", field.name()),
            Change::Driver(name) => write!(f, "+driver={name}"),
            Change::Runtime(name) => write!(f, "+runtime={name}"),
            Change::Key(key, Some(value)) => write!(f, "+{key}={value}"),
            Change::Key(key, None) => write!(f, "+no-{key}"),
            Change::Fault(rule) => write!(f, "+fault={rule}"),
            Change::Flag(name, on) => write!(f, "+{name}={on}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::fixture::arm;

    #[test]
    fn changed_arm_has_its_own_id_and_no_expectation() {
        let mut base = arm();
        base.positive_control = true;
        let changed = Change::Set(Field::Kernels, 173).apply(&base).expect("in range");
        assert_eq!(changed.id, "over/file-r+kernels=173");
        assert_eq!((changed.variant.kernels, changed.variant.name.as_str()), (173, "over+kernels=173"));
        assert!(changed.expect.is_none() && !changed.positive_control);
        assert_eq!(
            Change::Set(Field::Kernels, 0).apply(&base),
            Err("kernels is 1 to 8192, not 0".to_owned())
        );
        assert!(Change::Set(Field::BatchSize, 20).apply(&base).is_err());
    }

    #[test]
    fn a_larger_chunk_brings_a_source_that_holds_two() {
        let changed = Change::Set(Field::Chunk, 1 << 30).apply(&arm()).expect("in range");
        assert_eq!(changed.source.size, 2 << 30);
    }

    #[test]
    fn only_a_sycl_arm_has_another_runtime() {
        let change = Change::Runtime("2026.0.0".to_owned());
        assert!(change.apply(&arm()).expect_err("Level Zero").contains("no SYCL arm"));
        let mut sycl = arm();
        sycl.variant.front_end = FrontEnd::Sycl;
        let changed = change.apply(&sycl).expect("SYCL");
        assert_eq!(
            (changed.id.as_str(), changed.runtime.as_deref()),
            ("over/file-r+runtime=2026.0.0", Some("2026.0.0"))
        );
    }

    #[test]
    fn every_field_is_read_as_it_was_set() {
        for (name, field) in Field::ALL {
            assert_eq!(Field::by_name(name), Some(field));
            let value = (field.limits().0 + field.step()).next_multiple_of(field.step());
            let value = if field == Field::SourceSize { 64 << 20 } else { value };
            let changed = Change::Set(field, value).apply(&arm()).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(field.get(&changed), value, "{name}");
        }
    }
}

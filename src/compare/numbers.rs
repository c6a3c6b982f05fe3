//! Bit-exact comparison of two outputs that hold numbers: JSON, CSV, raw arrays.
//!
//! Two values are the same when their bits are: 0 and -0 differ, 1 and 1.0 are one number. JSON numbers with a point or
//! an exponent are read as the nearest 64-bit float (correctly rounded), integers exactly.

use std::fmt::{self, Debug};

use serde::Serialize;

use super::tree::Tree;

/// How an output is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Kind {
    Json,
    Csv,
    /// Little-endian numbers without a header.
    F32,
    F64,
    U8,
    U16,
    U32,
    U64,
}

impl Kind {
    /// By the file's extension; raw arrays have to be named.
    pub fn of(path: &std::path::Path) -> Option<Kind> {
        match path.extension()?.to_str()? {
            "json" => Some(Kind::Json),
            "csv" => Some(Kind::Csv),
            _ => None,
        }
    }
}

/// What a comparison found.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Comparison {
    /// Numbers that both outputs have at the same place.
    pub values: u64,
    pub different: u64,
    /// Texts, booleans, nulls at the same place, and how many differ.
    pub others: u64,
    pub others_different: u64,
    /// Places that only one of them has, or where the kinds differ.
    pub shape: u64,
    /// Largest |a − b| and |a − b| / max(|a|, |b|) over the numbers that differ.
    pub largest_absolute: f64,
    pub largest_relative: f64,
    /// The first differences, with their places.
    pub first: Vec<String>,
}

/// Differences that are told by their places.
const TOLD: usize = 10;

impl Comparison {
    pub fn identical(&self) -> bool {
        self.different == 0 && self.others_different == 0 && self.shape == 0
    }

    fn tell(&mut self, what: impl FnOnce() -> String) {
        if self.first.len() < TOLD {
            self.first.push(what());
        }
    }

    fn number(
        &mut self,
        same: bool,
        (a, b): (f64, f64),
        place: impl FnOnce() -> String,
        shown: [&dyn Debug; 2],
    ) {
        self.values += 1;
        if same {
            return;
        }
        self.different += 1;
        let absolute = (a - b).abs();
        let scale = a.abs().max(b.abs());
        // A NaN on one side only is a difference without a size.
        self.largest_absolute = self.largest_absolute.max(absolute);
        if scale > 0.0 {
            self.largest_relative = self.largest_relative.max(absolute / scale);
        }
        self.tell(|| format!("{}: {:?} and {:?}", place(), shown[0], shown[1]));
    }

    fn other(&mut self, same: bool, place: impl FnOnce() -> String) {
        self.others += 1;
        if !same {
            self.others_different += 1;
            self.tell(|| format!("{}: the texts differ", place()));
        }
    }

    fn misshapen(&mut self, what: impl FnOnce() -> String) {
        self.shape += 1;
        self.tell(what);
    }
}

/// Compares; `ignore` are names of JSON fields or CSV columns that are passed over (times, versions).
pub fn compare(kind: Kind, a: &[u8], b: &[u8], ignore: &[String]) -> Result<Comparison, String> {
    let mut out = Comparison::default();
    match kind {
        Kind::Json => {
            let told = |which| move |error| format!("the {which} output: {error}");
            let (a, b) = (Tree::read(a).map_err(told("first"))?, Tree::read(b).map_err(told("second"))?);
            json(&mut out, &a, &b, &mut Vec::new(), ignore);
        }
        Kind::Csv => csv(&mut out, a, b, ignore)?,
        Kind::F32 => raw(&mut out, a, b, |c: [u8; 4]| (c, f32::from_le_bytes(c).into()))?,
        Kind::F64 => raw(&mut out, a, b, |c: [u8; 8]| (c, f64::from_le_bytes(c)))?,
        Kind::U8 => raw(&mut out, a, b, |c: [u8; 1]| (c, c[0].into()))?,
        Kind::U16 => raw(&mut out, a, b, |c: [u8; 2]| (c, u16::from_le_bytes(c).into()))?,
        Kind::U32 => raw(&mut out, a, b, |c: [u8; 4]| (c, u32::from_le_bytes(c).into()))?,
        Kind::U64 => raw(&mut out, a, b, |c: [u8; 8]| (c, u64::from_le_bytes(c) as f64))?,
    }
    Ok(out)
}

fn json(out: &mut Comparison, a: &Tree<'_>, b: &Tree<'_>, path: &mut Vec<String>, ignore: &[String]) {
    match (a, b) {
        (Tree::Object(a), Tree::Object(b)) => {
            for (name, left) in a {
                if ignore.contains(name) {
                    continue;
                }
                path.push(name.clone());
                match b.get(name) {
                    Some(right) => json(out, left, right, path, ignore),
                    None => out.misshapen(|| format!("{}: only the first has it", path.join("."))),
                }
                path.pop();
            }
            for name in b.keys().filter(|name| !a.contains_key(*name) && !ignore.contains(*name)) {
                out.misshapen(|| format!("{}.{name}: only the second has it", path.join(".")));
            }
        }
        (Tree::Array(a), Tree::Array(b)) => {
            if a.len() != b.len() {
                out.misshapen(|| format!("{}: {} and {} elements", path.join("."), a.len(), b.len()));
            }
            for (index, (left, right)) in a.iter().zip(b).enumerate() {
                path.push(index.to_string());
                json(out, left, right, path, ignore);
                path.pop();
            }
        }
        (Tree::Number(a), Tree::Number(b)) => {
            let float = |text: &str| text.parse::<f64>().unwrap_or(f64::NAN);
            let (x, y) = (float(a), float(b));
            // An integer is written in one way only, so any two are told apart by their texts; so are numbers that no
            // float holds.
            let integers = [a, b].iter().all(|text| !text.contains(['.', 'e', 'E']));
            let held = x.is_finite() && y.is_finite();
            let same = if integers || !held { a == b } else { x.to_bits() == y.to_bits() };
            out.number(same, (x, y), || path.join("."), [&Plain(a), &Plain(b)]);
        }
        (Tree::Object(_) | Tree::Array(_) | Tree::Number(_), _)
        | (_, Tree::Object(_) | Tree::Array(_) | Tree::Number(_)) => {
            out.misshapen(|| format!("{}: of two kinds", path.join(".")));
        }
        (a, b) => out.other(a == b, || path.join(".")),
    }
}

/// A text as it is.
struct Plain<'a>(&'a str);

impl Debug for Plain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

fn csv(out: &mut Comparison, a: &[u8], b: &[u8], ignore: &[String]) -> Result<(), String> {
    let rows = |bytes: &[u8], which: &str| -> Result<Vec<csv::StringRecord>, String> {
        let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(bytes);
        reader.records().collect::<Result<_, _>>().map_err(|error| format!("the {which} output: {error}"))
    };
    let (a, b) = (rows(a, "first")?, rows(b, "second")?);
    if a.len() != b.len() {
        out.misshapen(|| format!("{} and {} rows", a.len(), b.len()));
    }
    let header: Vec<String> =
        a.first().map(|row| row.iter().map(str::to_owned).collect()).unwrap_or_default();
    for (line, (left, right)) in a.iter().zip(&b).enumerate() {
        if left.len() != right.len() {
            out.misshapen(|| format!("row {}: {} and {} cells", line + 1, left.len(), right.len()));
        }
        for (column, (x, y)) in left.iter().zip(right).enumerate() {
            let name = header.get(column).map_or("", String::as_str);
            if ignore.iter().any(|ignored| ignored == name) {
                continue;
            }
            let place = || format!("row {}, column {} {name}", line + 1, column + 1);
            match (x.trim().parse::<f64>(), y.trim().parse::<f64>()) {
                // Integers beyond 2^53 are told apart by their texts only.
                (Ok(p), Ok(q)) => out.number(
                    x.trim() == y.trim() || p.to_bits() == q.to_bits() && p.abs() < 9e15,
                    (p, q),
                    place,
                    [&Plain(x.trim()), &Plain(y.trim())],
                ),
                (Err(_), Err(_)) => out.other(x == y, place),
                _ => out.misshapen(|| format!("{}: a number and a text", place())),
            }
        }
    }
    Ok(())
}

fn raw<const N: usize>(
    out: &mut Comparison,
    a: &[u8],
    b: &[u8],
    read: impl Fn([u8; N]) -> ([u8; N], f64),
) -> Result<(), String> {
    for (bytes, which) in [(a, "first"), (b, "second")] {
        if !bytes.len().is_multiple_of(N) {
            return Err(format!(
                "the {which} output has {} bytes: no whole number of {N}-byte values",
                bytes.len()
            ));
        }
    }
    if a.len() != b.len() {
        out.misshapen(|| format!("{} and {} values", a.len() / N, b.len() / N));
    }
    for (index, (x, y)) in a.as_chunks::<N>().0.iter().zip(b.as_chunks::<N>().0).enumerate() {
        let ((p, x), (q, y)) = (read(*x), read(*y));
        out.number(p == q, (x, y), || format!("value {index}"), [&x, &y]);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(kind: Kind, a: &str, b: &str) -> Comparison {
        compare(kind, a.as_bytes(), b.as_bytes(), &["fps".to_owned()]).unwrap()
    }

    #[test]
    fn json_numbers_are_compared_by_their_bits() {
        let a = r#"{"frames": [{"psnr": 31.25, "n": 1}, {"psnr": 0.1, "n": 2}], "fps": 12.5, "name": "x"}"#;
        let same = of(Kind::Json, a, &a.replace("12.5", "99.0").replace("0.1", "0.10000000000000001"));
        assert!(same.identical() && same.values == 4 && same.others == 1, "{same:?}");
        // One unit in the last place.
        let other = of(Kind::Json, a, &a.replace("31.25", "31.250000000000004"));
        assert_eq!((other.values, other.different, other.shape), (4, 1, 0));
        assert!(other.first[0].starts_with("frames.0.psnr"), "{:?}", other.first);
        assert!(other.largest_absolute > 0.0 && other.largest_absolute < 1e-14);
        let shape = of(Kind::Json, a, &a.replace(r#", "name": "x""#, ""));
        assert_eq!((shape.different, shape.shape), (0, 1));
        // Integers beyond 2^53 stay apart.
        let apart = of(Kind::Json, "[9007199254740993]", "[9007199254740992]");
        assert_eq!(
            (apart.different, &apart.first[..]),
            (1, &["0: 9007199254740993 and 9007199254740992".to_owned()][..])
        );
        assert_eq!(of(Kind::Json, "[36893488147419103233]", "[36893488147419103232]").different, 1);
        let odd = of(Kind::Json, "[0, 1, 1e400]", "[-0, 1.0, 1e401]");
        assert_eq!((odd.values, odd.different), (3, 2), "{odd:?}");
        assert!(compare(Kind::Json, b"{", b"{}", &[]).unwrap_err().contains("first output"));
    }

    #[test]
    fn csv_has_numbers_and_texts() {
        let a = "frame,psnr,fps\n1,31.25,9\n2,nan,8\n";
        let same = of(Kind::Csv, a, &a.replace(",9\n", ",7\n"));
        assert!(same.identical(), "{same:?}");
        assert_eq!((same.values, same.others), (4, 2));
        assert_eq!(of(Kind::Csv, a, &a.replace("31.25", "31.26")).different, 1);
        assert_eq!(of(Kind::Csv, a, &a.replace("31.25", "none")).shape, 1);
        assert_eq!(of(Kind::Csv, a, "frame,psnr,fps\n1,31.25,9\n").shape, 1);
    }

    #[test]
    fn raw_values_are_compared_whole() {
        let bytes = |values: &[f32]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>();
        let (a, b) = (bytes(&[1.0, 0.0, f32::NAN]), bytes(&[1.0, -0.0, f32::NAN]));
        let found = compare(Kind::F32, &a, &b, &[]).unwrap();
        assert_eq!((found.values, found.different), (3, 1));
        assert!(compare(Kind::F32, &a[..5], &b, &[]).is_err());
        assert_eq!(compare(Kind::U8, &a, &b[..11], &[]).unwrap().shape, 1);
    }
}

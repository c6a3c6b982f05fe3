//! Every mistake has a place, and several are reported together. Hostile files give errors, never a panic.

use proptest::prelude::*;
use repro_matrix::matrix::{self, LoadError};

use crate::{SMALL, place, problems};

/// Spoils [`SMALL`] by one replacement and expects one problem: (from, to, line, column, message, label or help).
const SPOILED: &[(&str, &str, usize, usize, &str, &str)] = &[
    (
        "keys = \"resident2\"",
        "keys = \"resident\"",
        14,
        8,
        "unknown debug-key set \"resident\"",
        "did you mean \"resident2\"? (defined at line 7)",
    ),
    (
        "variant = \"over\"",
        "variant = \"ovre\"",
        12,
        11,
        "unknown variant \"ovre\"",
        "did you mean \"over\"? (defined at line 2)",
    ),
    ("source = \"file-r\"", "source = \"tape\"", 13, 10, "unknown source \"tape\"", "defined: file-r"),
    (
        "workload = \"short\"",
        "workload = \"defualt\"",
        15,
        12,
        "unknown workload \"defualt\"",
        "did you mean \"default\"?",
    ),
    (
        "kernels = 4",
        "kernels = 4\nkernals = 5",
        4,
        1,
        "unknown key \"kernals\" in [variants.over]",
        "did you mean \"kernels\"?",
    ),
    (
        "name = \"small\"",
        "name = \"small\"\nvariant = 3",
        2,
        1,
        "unknown key \"variant\" in a matrix file",
        "did you mean \"variants\"?",
    ),
    (
        "kernels = 4",
        "kernels = \"four\"",
        3,
        11,
        "expected a whole number from 0 to 4294967295, found \"four\" in [variants.over]",
        "",
    ),
    (
        "kernels = 4",
        "kernels = -1",
        3,
        11,
        "expected a whole number from 0 to 4294967295, found -1 in [variants.over]",
        "",
    ),
    ("kernels = 4", "extract = 5", 3, 11, "expected a table, found 5 in [variants.over]", ""),
    ("kernels = 4", "kernels = 0", 3, 11, "kernels is 1 to", "not 0"),
    ("kernels = 4", "kernels = 4\nbatch_size = 20", 4, 14, "batch_size is a multiple of 8", "16 or 24"),
    ("kernels = 4", "kernels = 4\nbatch_size = 96", 4, 14, "batch_size is 8 to 88", ""),
    ("kernels = 4", "kernels = 4\nsimd = 64", 4, 8, "simd is 16 or 32", ""),
    ("kernels = 4", "batch_size = 64", 2, 11, "[variants.over] needs `kernels`", ""),
    (
        "kind = \"file\"",
        "kind = \"fiel\"",
        5,
        8,
        "unknown value \"fiel\" in [sources.file-r]",
        "did you mean \"file\"?",
    ),
    ("prot = \"r\"", "", 5, 8, "must say its protection", "prot = \"rw\""),
    (
        "prot = \"r\"",
        "prot = \"r\"\nsize = \"20MiB\"",
        7,
        8,
        "has 20MiB: too small for workload \"short\"",
        "22MiB",
    ),
    (
        "prot = \"r\"",
        "prot = \"r\"\nsize = \"20 parsecs\"",
        7,
        8,
        "expected a size such as \"11MiB\" (B, KiB, MiB, GiB, kB, MB, GB) or a number of bytes, found \"20 parsecs\"",
        "",
    ),
    (
        "prot = \"r\"",
        "prot = \"r\"\nmedium = \"tmpfs\"\npage_cache = \"cold\"",
        8,
        14,
        "a file on tmpfs cannot be cold",
        "",
    ),
    (
        "kind = \"file\"",
        "kind = \"anon\"\nmedium = \"disk\"",
        6,
        10,
        "`medium` has no meaning for kind = \"anon\"",
        "",
    ),
    ("kind = \"file\"", "kind = \"host\"", 6, 8, "malloc'd memory is writable", ""),
    (
        "MakeEachAllocationResident = 2",
        "makeEach = 2",
        8,
        12,
        "\"makeEach\" is not a debug key",
        "capital first",
    ),
    (
        "MakeEachAllocationResident = 2",
        "Mask = \"0x10\"",
        8,
        8,
        "reads Mask = \"0x10\" from the environment as 0",
        "decimal only",
    ),
    (
        "MakeEachAllocationResident = 2",
        "NEOReadDebugKeys = 0",
        8,
        20,
        "NEOReadDebugKeys is set for every run",
        "",
    ),
    (
        "MakeEachAllocationResident = 2",
        "expect_unknown = true",
        7,
        7,
        "expect_unknown without a debug key",
        "",
    ),
    ("MakeEachAllocationResident = 2", "Key = 1.5", 8, 7, "expected the value of a debug key", ""),
    ("copies = 3", "copies = 0", 10, 10, "copies is 1 to", ""),
    (
        "copies = 3",
        "skip_upload = true\nno_copy = true",
        11,
        11,
        "`no_copy` has no effect with skip_upload",
        "",
    ),
    (
        "expect = \"clean\"",
        "expect = \"claen\"",
        16,
        10,
        "unknown value \"claen\" in [[arm]]",
        "did you mean \"clean\"?",
    ),
    ("expect = \"clean\"", "expect = { wrong = 3 }", 16, 10, "[[arm]] needs `verdict`", ""),
    (
        "expect = \"clean\"",
        "expect = { verdict = \"corrupt\", wrong = 3, untouched = 4 }",
        16,
        10,
        "4 untouched of 3 wrong",
        "",
    ),
    (
        "expect = \"clean\"",
        "expect = { verdict = \"clean\", hazrd = true }",
        16,
        31,
        "unknown key \"hazrd\"",
        "did you mean \"hazard\"?",
    ),
    ("expect = \"clean\"", "timeout = 20", 16, 11, "20 has no unit", "20s"),
    ("expect = \"clean\"", "timeout = \"0s\"", 16, 11, "timeout is more than nothing", ""),
    ("expect = \"clean\"", "repeats = 0", 16, 11, "repeats is 1 to", ""),
    ("expect = \"clean\"", "device = \"a770\"", 16, 10, "\"a770\" is not a device", "sim:a770"),
    (
        "expect = \"clean\"",
        "device = \"sim:a707\"",
        16,
        10,
        "no simulated device \"a707\"",
        "did you mean \"sim:a770\"?",
    ),
    ("expect = \"clean\"", "id = \"../../etc\"", 16, 6, "\"..\" cannot be a part of an id", ""),
    ("expect = \"clean\"", "driver = \"/usr\"", 16, 10, "\"/usr\" cannot be the name of a driver build", ""),
    (
        "expect = \"clean\"",
        "observers = [\"neo-log\", \"neo-log\"]",
        16,
        25,
        "this observer is named twice",
        "",
    ),
    (
        "expect = \"clean\"",
        "expect = \"clean\"\npositive_control = true",
        11,
        1,
        "is a positive control and expects no corruption",
        "",
    ),
    ("[[arm]]", "[arm]", 11, 1, "`arm` is a list of tables", "[[arm]]"),
    ("kernels = 4", "kernels = 4\nkernels = 5", 4, 1, "duplicate key", ""),
    ("kernels = 4", "kernels = ", 3, 11, "must be quoted", ""),
    ("name = \"small\"", "name = \"a b\"", 1, 8, "\"a b\" cannot be the name of a matrix", ""),
];

#[test]
fn one_mistake_one_problem_at_its_place() {
    for &(from, to, line, column, message, hint) in SPOILED {
        assert_eq!(SMALL.matches(from).count(), 1, "{from} must be unique in the file");
        let text = SMALL.replacen(from, to, 1);
        let found = problems(&text);
        let all = format!("{to}: {found:#?}");
        assert_eq!(found.len(), 1, "{all}");
        let shown = format!("{:?} {:?}", found[0].label, found[0].help).replace("\\\"", "\"");
        assert!(found[0].message.contains(message), "{all}");
        assert!(shown.contains(hint) || found[0].message.contains(hint), "{all}");
        assert_eq!(place(&text, &found[0]), (line, column), "{all}");
    }
}

#[test]
fn several_mistakes_are_reported_together_in_file_order() {
    let text = SMALL
        .replace("kernels = 4", "kernels = \"x\"\nsimd = \"y\"\nfoo = 1")
        .replace("prot = \"r\"", "prot = \"q\"")
        .replace("keys = \"resident2\"", "keys = \"resident3\"\ntimeout = 5");
    let found = problems(&text);
    let lines: Vec<usize> = found.iter().map(|problem| place(&text, problem).0).collect();
    // A reference to a source whose table is wrong is not a second mistake; a name beside a wrong key is one.
    assert_eq!(lines, [3, 4, 5, 8, 16, 17], "{found:#?}");
}

#[test]
fn references_are_checked_beside_unreadable_tables() {
    let text = SMALL.replace("prot = \"r\"", "prot = \"q\"").replace("\"resident2\"", "\"resident3\"");
    let messages: Vec<String> = problems(&text).into_iter().map(|problem| problem.message).collect();
    assert_eq!(messages, ["unknown value \"q\" in [sources.file-r]", "unknown debug-key set \"resident3\""]);
}

#[test]
fn names_are_looked_up_in_tables_with_other_mistakes_too() {
    let messages =
        |text: &str| -> Vec<String> { problems(text).into_iter().map(|problem| problem.message).collect() };
    let product = "[[product]]\nvariants = [\"over\", \"none\"]\nsources = \"tape\"\nrepeats = \"x\"\n\
                   include = [{ variant = \"other\", source = \"file-r\" }]\n";
    let found = messages(&format!("{SMALL}{product}"));
    let expected = [
        "unknown variant \"none\"",
        "unknown source \"tape\"",
        "expected a whole number from 0 to 4294967295, found \"x\" in [[product]]",
        "unknown variant \"other\"",
    ];
    assert_eq!(found, expected);
    // What [defaults] says beside its mistake holds; what an arm lacks may be the key that could not be read.
    let text = format!("{SMALL}[defaults]\nkeys = \"nokeys\"\nrepeats = \"x\"\nsource = 3\n");
    let found = messages(&text.replace("source = \"file-r\"\n", ""));
    assert_eq!(found.len(), 3, "{found:#?}");
    assert!(found.iter().any(|message| message == "unknown debug-key set \"nokeys\""), "{found:#?}");
}

#[test]
fn product_mistakes() {
    let with = |product: &str| format!("{SMALL}[[product]]\n{product}");
    for (product, message) in [
        ("variants = [\"over\"]", "the product has no sources"),
        ("variants = []\nsources = \"file-r\"", "empty list of variants"),
        ("variants = [\"over\", \"over\"]\nsources = \"file-r\"", "named twice in variants"),
        (
            "variants = \"over\"\nsources = \"file-r\"\nexclude = [{ variant = \"under\", reason = \"x\" }]",
            "\"under\" is not among the variants of this product",
        ),
        ("variants = \"over\"\nsources = \"file-r\"\nexclude = [{ variant = \"over\" }]", "needs `reason`"),
        (
            "variants = \"over\"\nsources = \"file-r\"\nkeys = \"resident2\"\nworkloads = \"short\"",
            "arm \"over/file-r/resident2/short\" is defined twice",
        ),
        (
            "variants = \"over\"\nsources = \"file-r\"\ninclude = [{ variant = \"over\", source = \"file-r\", keys = \
             \"resident2\" }]\nexclude = [{ keys = \"resident2\", reason = \"x\" }]",
            "\"resident2\" is not among the keys of this product",
        ),
        (
            "variants = \"over\"\nsources = \"file-r\"\ninclude = [{ variant = \"over\" }]",
            "an included arm has no source",
        ),
    ] {
        let found = problems(&with(product));
        assert!(found.iter().any(|problem| problem.message.contains(message)), "{message}: {found:#?}");
    }
}

#[test]
fn source_without_bytes_cannot_be_copied_from() {
    let text = SMALL.replace("kind = \"file\"\nprot = \"r\"", "kind = \"none\"");
    let found = problems(&text);
    assert!(found[0].message.contains("has no bytes"), "{found:#?}");
}

#[test]
fn no_arm_is_a_problem() {
    let found = problems("name = \"empty\"");
    assert!(found[0].message.contains("no arm"), "{found:#?}");
}

#[test]
fn hostile_files_give_errors() {
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("empty", Vec::new()),
        ("nul", b"name = \"a\0b\"".to_vec()),
        ("binary", (0..=255).cycle().take(100_000).collect()),
        ("nested arrays", [b"name = ".to_vec(), vec![b'['; 200_000]].concat()),
        ("nested tables", format!("[{}]\n", vec!["a"; 50_000].join(".")).into_bytes()),
        ("dotted key", format!("{} = 1\n", vec!["a"; 50_000].join(".")).into_bytes()),
        ("long key", format!("{} = 1\n", "k".repeat(3_000_000)).into_bytes()),
        ("many unknown keys", (0..100_000).map(|i| format!("k{i} = {i}\n")).collect::<String>().into_bytes()),
        (
            "many bad tables",
            (0..50_000).map(|i| format!("[variants.v{i}]\nx = 1\n")).collect::<String>().into_bytes(),
        ),
        ("one byte too many", vec![b' '; (matrix::load::LARGEST + 1) as usize]),
        ("huge integer", b"name = \"x\"\nseed = 99999999999999999999999999".to_vec()),
        ("date for a name", b"name = 2026-11-29".to_vec()),
    ];
    for (what, bytes) in cases {
        let started = std::time::Instant::now();
        assert!(matrix::parse("hostile", &bytes).is_err(), "{what} was accepted");
        assert!(started.elapsed().as_secs() < 20, "{what} took {:?}", started.elapsed());
    }
}

#[test]
fn product_of_millions_is_refused_before_it_is_made() {
    let names: Vec<String> = (0..400).map(|i| format!("\"d{i}\"")).collect();
    let devices: Vec<String> = (0..400).map(|i| format!("\"pci:{i:04x}:00:00.0\"")).collect();
    let text = format!(
        "{SMALL}[[product]]\nvariants = \"over\"\nsources = \"file-r\"\ndrivers = [{}]\ndevices = [{}]\n",
        names.join(","),
        devices.join(",")
    );
    assert!(problems(&text)[0].message.contains("160000 arms"), "{:?}", problems(&text));
}

#[test]
fn not_utf8_says_where() {
    let error = matrix::parse("x.toml", b"name = \"x\"\nseed = \xff").expect_err("not UTF-8");
    assert!(matches!(error, LoadError::NotUtf8 { line: 2, column: 8, offset: 18, .. }), "{error:?}");
}

#[test]
fn unreadable_file_says_why() {
    let error = matrix::load(std::path::Path::new("/no/such/matrix.toml")).expect_err("no such file");
    assert!(matches!(error, LoadError::Read { .. }), "{error:?}");
    let error = matrix::load(std::path::Path::new("/dev/zero")).expect_err("endless");
    assert!(matches!(error, LoadError::TooLarge { .. }), "{error:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Whatever a few spoiled bytes make of a good file, there is an answer, and problems lie within the file.
    #[test]
    fn spoiled_files_never_panic(
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0_usize..6), 1..6)
    ) {
        let mut bytes = matrix::EXAMPLE.as_bytes().to_vec();
        for (at, byte, cut) in edits {
            let at = at.index(bytes.len());
            let end = (at + cut).min(bytes.len());
            bytes.splice(at..end, [byte]);
        }
        if let Err(error) = matrix::parse("spoiled", &bytes) {
            for problem in error.problems() {
                prop_assert!(problem.span.start <= problem.span.end && problem.span.end <= bytes.len());
            }
            // Rendering must hold for any span.
            let _ = format!("{:?}", miette::Report::new(error));
        }
    }

    #[test]
    fn any_text_never_panics(text in "\\PC{0,200}") {
        let _ = matrix::parse("any", text.as_bytes());
    }

    /// TOML-like soup reaches further than plain noise.
    #[test]
    fn toml_soup_never_panics(parts in prop::collection::vec(prop::sample::select(vec![
        "[[product]]\n", "[[arm]]\n", "[variants.a]\n", "[sources.a]\n", "[keys.a]\n", "[workloads.a]\n", "[defaults]\n",
        "[[product.case]]\n", "variants = \"a\"\n", "sources = [\"a\"]\n", "kernels = 1\n", "kind = \"file\"\n",
        "prot = \"r\"\n", "exclude = [{ reason = \"x\" }]\n", "include = [{}]\n", "expect = \"corrupt\"\n", "source = \"a\"\n",
        "variant = \"a\"\n", "keys = [1]\n", "workloads = 3\n", "skip_upload = true\n", "name = \"n\"\n", "timeout = \"1s\"\n",
    ]), 0..25)) {
        let text = format!("name = \"soup\"\n{}", parts.concat());
        let _ = matrix::parse("soup", text.as_bytes());
    }
}

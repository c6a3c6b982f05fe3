//! The decoder against Intel's own disassembler: every instruction of every kernel of the corpus, and bit patterns
//! made from them, must print the same. Needs a driver tree (see `isa_support::tree`) and fails without one.

mod isa_support;

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::sync::OnceLock;

use isa_support::{
    builtin,
    corpus::{self, Text},
    oracle,
    tree::Tree,
};
use xe_sim::isa::{self, DecodeError, Kernel, Op, Reason, XE_HPG};

/// Not a test: the other tests start it inside the driver tree.
#[test]
#[ignore = "run by the other tests inside the driver tree's loader"]
fn oracle_child() {
    if !oracle::serve() {
        println!("nothing to do: started by hand");
    }
}

/// The compiled corpus, shared by the tests of one run.
fn corpus(tree: &Tree) -> &'static [Text] {
    static CORPUS: OnceLock<Vec<Text>> = OnceLock::new();
    CORPUS.get_or_init(|| corpus::compile(tree))
}

/// What a comparison of whole texts came to.
#[derive(Default)]
struct Tally {
    compared: usize,
    compacted: usize,
    coverage: BTreeMap<&'static str, usize>,
    failures: Vec<String>,
}

fn compare_texts(tree: &Tree, texts: &[Text], what: &str) -> Tally {
    let questions: Vec<&[u8]> = texts.iter().map(|text| &*text.bytes).collect();
    let verdicts = oracle::ask(tree, &questions, true);
    let mut tally = Tally::default();
    for (text, verdict) in texts.iter().zip(&verdicts) {
        assert!(verdict.valid, "IGA refuses {}", text.name);
        match isa::kernel(&text.bytes, &XE_HPG) {
            Ok(kernel) => tally.compare(text, &kernel, &verdict.lines),
            Err(error) => tally.failures.push(format!("{}: {error}", text.name)),
        }
    }
    println!(
        "{what}: {} instructions of {} texts compared, {} of them compacted, {} differ",
        tally.compared,
        texts.len(),
        tally.compacted,
        tally.failures.len()
    );
    println!("{what}, by operation: {:?}", tally.coverage);
    assert!(tally.failures.is_empty(), "{} differ:\n{}", tally.failures.len(), head(&tally.failures));
    tally
}

impl Tally {
    fn compare(&mut self, text: &Text, kernel: &Kernel, theirs: &[String]) {
        let (labels, lines): (Vec<_>, Vec<_>) = theirs.iter().partition(|line| line.ends_with(':'));
        assert_eq!(lines.len(), kernel.instructions.len(), "{}: number of instructions", text.name);
        for ((offset, inst), theirs) in kernel.instructions.iter().zip(lines) {
            let ours = inst.at(*offset).to_string();
            if ours != **theirs {
                self.failures.push(format!("{} +{offset:#x}\n  ours   {ours}\n  theirs {theirs}", text.name));
            }
            self.compared += 1;
            self.compacted += usize::from(inst.compacted);
            *self.coverage.entry(inst.op.mnemonic()).or_default() += 1;
        }
        let labels: BTreeSet<_> = labels.iter().map(|label| label.trim_end_matches(':').to_owned()).collect();
        let end = i64::try_from(text.bytes.len()).expect("a short text");
        for label in kernel.labels.iter().filter(|label| **label < end) {
            assert!(labels.contains(&format!("L{label}")), "{}: label L{label}", text.name);
        }
    }
}

#[test]
fn every_instruction_of_the_corpus_prints_as_iga_prints_it() {
    let tree = Tree::find();
    let tally = compare_texts(&tree, corpus(&tree), "corpus");
    // What the corpus is for: a change that loses whole families would make the comparison worthless.
    assert!(tally.compared > 20_000 && tally.compacted > 1_000, "the corpus shrank");
    for op in
        ["add", "mad", "send", "goto", "join", "math", "bfn", "cmp", "sel", "call", "ret", "dpas", "sync"]
    {
        assert!(tally.coverage.contains_key(op), "the corpus has no {op}");
    }
}

#[test]
fn every_instruction_of_the_drivers_own_kernels_prints_as_iga_prints_it() {
    let tree = Tree::find();
    let texts = builtin::texts(&tree);
    let tally = compare_texts(&tree, &texts, "built-in kernels");
    assert!(texts.len() > 50 && tally.compared > 10_000, "the driver's kernels were not found");
}

/// Deterministic pseudo-random numbers (SplitMix64).
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }
}

/// Reserved encodings that IGA prints all the same, some of them as garbage. No compiler makes them.
const STRICTER: [&str; 3] = ["byte immediate", "native float type", "register target of a two-target branch"];

/// Two instructions of one text would make a difference in the first hide the second: one question each.
fn compare(tree: &Tree, words: &[Vec<u8>], what: &str) -> BTreeSet<Op> {
    let questions: Vec<&[u8]> = words.iter().map(|word| &**word).collect();
    let verdicts = oracle::ask(tree, &questions, false);
    let (mut same, mut refused) = (0, 0);
    let mut covered = BTreeSet::new();
    let mut stricter = BTreeMap::<&str, usize>::new();
    let mut failures = Vec::new();
    for (word, verdict) in words.iter().zip(&verdicts) {
        let ours = isa::decode(word, &XE_HPG);
        // IGA prints some reserved values as "?" without reporting them.
        let theirs = verdict.lines.first().filter(|line| verdict.valid && !line.contains('?'));
        match (&ours, theirs) {
            (Ok(inst), Some(theirs)) if inst.to_string() == **theirs => {
                same += 1;
                covered.insert(inst.op);
            }
            (Err(_), None) => refused += 1,
            (Err(DecodeError { reason: Reason::Field { field, .. }, .. }), Some(_))
                if STRICTER.contains(field) =>
            {
                *stricter.entry(field).or_default() += 1;
            }
            _ => {
                let hex: String = word.iter().map(|byte| format!("{byte:02x}")).collect();
                let ours = ours.map_or_else(|error| error.to_string(), |inst| inst.to_string());
                let theirs = theirs.cloned().unwrap_or_else(|| format!("refused: {:?}", verdict.lines));
                failures.push(format!("{hex}\n  ours   {ours}\n  theirs {theirs}"));
            }
        }
    }
    println!(
        "{what}: {same} print the same, {refused} refused by both, refused by us alone: {stricter:?}, {} differ",
        failures.len()
    );
    assert!(failures.is_empty(), "{} differ:\n{}", failures.len(), head(&failures));
    assert!(same > words.len() / 20, "too few valid words to mean anything");
    covered
}

fn head(failures: &[String]) -> String {
    failures.iter().take(40).cloned().collect::<Vec<_>>().join("\n")
}

/// One instruction of each shape in the corpus: operation, size and operand kinds.
fn shapes(tree: &Tree) -> Vec<Vec<u8>> {
    let mut shapes = BTreeMap::new();
    for text in corpus(tree) {
        let kernel = isa::kernel(&text.bytes, &XE_HPG).expect("the corpus decodes");
        for (offset, inst) in &kernel.instructions {
            let kinds = inst.src.map(|src| src.map(|src| (std::mem::discriminant(&src), src.ty())));
            let key = format!("{:?}{}{:?}{kinds:?}", inst.op, inst.compacted, inst.dst.map(|dst| dst.ty));
            shapes.entry(key).or_insert_with(|| text.bytes[*offset..*offset + inst.size()].to_vec());
        }
    }
    shapes.into_values().collect()
}

#[test]
fn every_single_bit_change_of_every_shape_prints_as_iga_prints_it() {
    let tree = Tree::find();
    let mut words = Vec::new();
    for shape in shapes(&tree) {
        for bit in 0..shape.len() * 8 {
            // Whether it is compact decides how long it is.
            if bit != 29 {
                let mut word = shape.clone();
                word[bit / 8] ^= 1 << (bit % 8);
                words.push(word);
            }
        }
    }
    compare(&tree, &words, "single bits");
}

#[test]
fn random_changes_and_random_words_print_as_iga_prints_them() {
    let seed =
        env::var("ISA_SEED").map_or(0x15a_2026, |seed| seed.parse().expect("ISA_SEED: a decimal number"));
    println!("seed {seed} (set ISA_SEED for another)");
    let tree = Tree::find();
    let mut rng = Rng(seed);
    let shapes = shapes(&tree);
    let codes: Vec<u8> = XE_HPG.ops().map(|(code, _)| code).collect();
    let mut words = Vec::new();
    for _ in 0..40_000 {
        let mut word = shapes[rng.below(shapes.len())].clone();
        for _ in 0..2 + rng.below(5) {
            let bit = rng.below(word.len() * 8);
            if bit != 29 {
                word[bit / 8] ^= 1 << (bit % 8);
            }
        }
        words.push(word);
    }
    for _ in 0..20_000 {
        let compact = rng.below(2) == 0;
        let mut word: Vec<u8> = (0..2).flat_map(|_| rng.next().to_le_bytes()).collect();
        word[0] = codes[rng.below(codes.len())];
        word[3] = word[3] & !0x20 | u8::from(compact) << 5;
        word.truncate(if compact { 8 } else { 16 });
        words.push(word);
    }
    let covered = compare(&tree, &words, "random words");
    let missing: Vec<_> = XE_HPG.ops().map(|(_, op)| op).filter(|op| !covered.contains(op)).collect();
    assert!(missing.is_empty(), "no valid word of {missing:?}");
}

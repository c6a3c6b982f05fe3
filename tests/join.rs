//! A module that is put together from parts, beside the one that the real compiler makes of the same kernels at once.

mod support;

use std::path::Path;

use object::read::elf::{ElfFile64, FileHeader, Rel, SectionHeader, Sym};
use object::{Endianness, elf};
use repro_matrix::build::join::{self, JoinError};
use repro_matrix::build::part::PartError;
use repro_matrix::build::recipe::PART;
use repro_matrix::build::{BuiltVariant, Target};
use repro_matrix::model::arm::{Compile, Split, Variant};
use support::{Tree, builder, variant};
use xe_sim::isa;

fn build(tree: &Tree, dir: &Path, profile: &str, variant: &Variant) -> BuiltVariant {
    let target = Target::for_profile(profile).unwrap();
    builder(tree, dir).build(variant, &target).unwrap_or_else(|error| panic!("{}", error.explain()))
}

fn image(built: &BuiltVariant) -> Vec<u8> {
    assert_eq!(built.modules.len(), 1);
    std::fs::read(&built.modules[0].path).unwrap()
}

/// Everything of a zebin but the alignment of its sections.
#[derive(Debug, PartialEq)]
struct Content {
    machine: u16,
    flags: u32,
    sections: Vec<Part>,
    /// Name, section, value, size, binding and type.
    symbols: Vec<(String, u16, u64, u64, u8)>,
}

#[derive(Debug, PartialEq)]
struct Part {
    name: String,
    kind: u32,
    flags: u64,
    link: u32,
    info: u32,
    entry_size: u64,
    data: Data,
}

#[derive(Debug, PartialEq)]
enum Data {
    Bytes(Vec<u8>),
    Text(String),
    /// Offset, kind, symbol.
    Relocations(Vec<(u64, u32, String)>),
    Elsewhere,
}

fn content(image: &[u8]) -> Content {
    let endian = Endianness::Little;
    let file = ElfFile64::<Endianness>::parse(image).unwrap();
    let table = file.elf_section_table();
    let symbols = file.elf_symbol_table();
    let name = |sym: &elf::Sym64<Endianness>| {
        String::from_utf8(symbols.symbol_name(endian, sym).unwrap().to_vec()).unwrap()
    };
    let sections = table.iter().map(|section| {
        let data = match section.sh_type(endian) {
            elf::SHT_REL => {
                let (list, _) = section.rel(endian, image).unwrap().unwrap();
                let named = |rel: &elf::Rel64<Endianness>| {
                    let symbol = symbols.symbol(rel.symbol(endian).unwrap()).unwrap();
                    (rel.r_offset(endian), rel.r_type(endian).0, name(symbol))
                };
                Data::Relocations(list.iter().map(named).collect())
            }
            elf::SHT_SYMTAB | elf::SHT_STRTAB => Data::Elsewhere,
            _ => {
                let data = section.data(endian, image).unwrap();
                match table.section_name(endian, section).unwrap() {
                    b".ze_info" => Data::Text(String::from_utf8(data.to_vec()).unwrap()),
                    _ => Data::Bytes(data.to_vec()),
                }
            }
        };
        Part {
            name: String::from_utf8(table.section_name(endian, section).unwrap().to_vec()).unwrap(),
            kind: section.sh_type(endian).0,
            flags: section.sh_flags(endian).0,
            link: section.sh_link(endian),
            info: section.sh_info(endian),
            entry_size: section.sh_entsize(endian),
            data,
        }
    });
    let fields = |sym: &elf::Sym64<Endianness>| {
        (name(sym), sym.st_shndx(endian).0, sym.st_value(endian), sym.st_size(endian), sym.st_info().0)
    };
    Content {
        machine: file.elf_header().e_machine(endian).0,
        flags: file.elf_header().e_flags(endian).0,
        sections: sections.collect(),
        symbols: symbols.iter().map(fields).collect(),
    }
}

/// The code without the words that tell the compilation, which differ: where they were.
fn mask(ours: &mut Content, theirs: &mut Content) -> Vec<(String, Vec<usize>)> {
    let mut masked = Vec::new();
    for (ours, theirs) in ours.sections.iter_mut().zip(&mut theirs.sections) {
        let (Data::Bytes(a), Data::Bytes(b)) = (&mut ours.data, &mut theirs.data) else { continue };
        if !ours.name.starts_with(".text.") || a.len() != b.len() {
            continue;
        }
        let mut words = Vec::new();
        for (at, (a, b)) in a.chunks_exact_mut(4).zip(b.chunks_exact_mut(4)).enumerate() {
            if a != b {
                words.push(4 * at);
                a.fill(0);
                b.fill(0);
            }
        }
        masked.push((ours.name.clone(), words));
    }
    masked
}

fn text_of<'a>(content: &'a Content, name: &str) -> &'a [u8] {
    match &content.sections.iter().find(|section| section.name == name).unwrap().data {
        Data::Bytes(bytes) => bytes,
        other => panic!("{name}: {other:?}"),
    }
}

/// Same sections, symbols, relocations, `.ze_info`; code that differs in what tells the compilation.
fn compare(profile: &str, variant: &Variant) -> (Content, Vec<(String, Vec<usize>)>) {
    let tree = Tree::open();
    let dir = tempfile::tempdir().unwrap();
    let joined = build(&tree, dir.path(), profile, variant);
    let whole = build(&tree, dir.path(), profile, &Variant { compile: Compile::Whole, ..variant.clone() });
    assert!(joined.modules[0].parts.len() > 1 && whole.modules[0].parts.is_empty());
    assert_eq!(joined.modules[0].kernels, whole.modules[0].kernels);
    let (mut ours, mut theirs) = (content(&image(&joined)), content(&image(&whole)));
    let untouched = content(&image(&joined));
    let masked = mask(&mut ours, &mut theirs);
    assert_eq!(ours, theirs, "{profile}");
    assert_eq!(masked.len(), joined.modules[0].kernels.as_ref().unwrap().len());
    for (kernel, words) in &masked {
        // A hash of 64 bits in two immediates, different for every compilation, and the kernel's number in a third.
        assert!((1..=3).contains(&words.len()), "{profile} {kernel}: code differs at {words:?}");
    }
    (untouched, masked)
}

#[test]
fn a_joined_module_is_the_compilers_own_but_for_marks_behind_the_code() {
    let variant = Variant { plain_kernels: 3, ..variant(PART + 4, 16) };
    let (joined, masked) = compare("a770", &variant);
    for (kernel, words) in masked {
        let text = text_of(&joined, &kernel);
        let code = isa::kernel(text, &isa::XE_HPG).unwrap();
        let ends = code.instructions.iter().filter(|(_, inst)| inst.to_string().contains("{EOT"));
        let end = ends.map(|(at, _)| *at).max().expect("a kernel ends its thread");
        for word in words {
            let (at, inst) = code.instructions.iter().rfind(|(at, _)| *at <= word).unwrap();
            assert!(*at > end, "{kernel}: code that is executed differs at {at}: {inst}");
            assert!(inst.to_string().contains("mov (16|M0) null"), "{kernel} at {at}: {inst}");
        }
    }
}

#[test]
fn so_it_is_where_private_memory_lies_in_scratch() {
    let options = vec!["-cl-mad-enable".to_owned()];
    compare("b580", &Variant { options, ..variant(PART + 2, 16) });
}

#[test]
fn a_kernel_of_its_own_module_is_cut_out_of_a_part() {
    let tree = Tree::open();
    let dir = tempfile::tempdir().unwrap();
    let split = Variant { split: Split::PerKernel, ..variant(PART + 1, 16) };
    let cut = build(&tree, dir.path(), "a770", &split);
    let asked = Variant { compile: Compile::Whole, ..split };
    assert_eq!(cut.modules.len() as u32, PART + 2);
    // One of the middle is enough: the compiler takes 0.2 s for each.
    let one = build(&tree, dir.path(), "a770", &Variant { kernels: 4, ..asked });
    let (ours, theirs) = (&cut.modules[3], &one.modules[3]);
    assert_eq!((ours.name.as_str(), ours.kernels.as_ref()), ("priv3", theirs.kernels.as_ref()));
    let read = |path: &Path| content(&std::fs::read(path).unwrap());
    let (mut ours, mut theirs) = (read(&ours.path), read(&theirs.path));
    let masked = mask(&mut ours, &mut theirs);
    assert_eq!(ours, theirs);
    assert!(masked.iter().all(|(_, words)| words.len() <= 3), "{masked:?}");
}

#[test]
fn neighbours_compile_nothing_twice() {
    let tree = Tree::open();
    let dir = tempfile::tempdir().unwrap();
    let over = build(&tree, dir.path(), "a770", &variant(PART + 2, 8));
    assert!(over.notes.is_empty(), "{:?}", over.notes);
    let under = build(&tree, dir.path(), "a770", &variant(PART + 1, 8));
    assert!(!over.cached && under.cached, "all of its parts were there");
    assert_eq!(over.build_seconds, under.build_seconds, "and it says what they took");
    assert_ne!(over.modules[0].sha256, under.modules[0].sha256);
    let kernels = |built: &BuiltVariant| built.kernels().unwrap().len() as u32;
    assert_eq!((kernels(&over), kernels(&under)), (PART + 3, PART + 2));
    let taken: usize = under.modules[0].parts.iter().map(|part| part.kernels.len()).sum();
    assert_eq!(taken as u32, PART + 2, "the record says which kernels came from where");
}

/// Constants belong to the whole module: IGC puts them into a section of their own.
#[test]
fn what_cannot_be_put_together_is_compiled_whole() {
    let tree = Tree::open();
    let dir = tempfile::tempdir().unwrap();
    // A table that every kernel reads, in the words of the template.
    let table = "-Dif(x)=const/**/uint/**/T[8]={1,5,9,2,7,3,11,4};if((x)||T[i&7]==n)";
    let variant = Variant { options: vec![table.to_owned()], ..variant(PART + 1, 8) };
    let built = build(&tree, dir.path(), "a770", &variant);
    let [note] = built.notes.as_slice() else { panic!("{:?}", built.notes) };
    assert!(note.contains("compiled whole") && note.contains("`.data.const`"), "{note}");
    assert!(built.modules[0].parts.is_empty());
    let kernels = built.kernels().unwrap();
    assert_eq!(kernels.iter().filter(|kernel| kernel.name.starts_with("priv")).count() as u32, PART + 1);
}

#[test]
fn parts_that_do_not_belong_together_are_refused() {
    let tree = Tree::open();
    let dir = tempfile::tempdir().unwrap();
    let one = image(&build(&tree, dir.path(), "a770", &variant(1, 8)));
    let other = image(&build(&tree, dir.path(), "b580", &variant(1, 8)));
    let take = |list: &[(usize, &str)]| {
        let list: Vec<(usize, String)> = list.iter().map(|(n, name)| (*n, (*name).to_owned())).collect();
        join::join(&[&one, &other], &list)
    };
    assert_eq!(take(&[(0, "priv0")]), Err(JoinError::Unlike { index: 1 }));
    let take = |list: &[(usize, &str)]| {
        let list: Vec<(usize, String)> = list.iter().map(|(n, name)| (*n, (*name).to_owned())).collect();
        join::join(&[&one], &list)
    };
    assert_eq!(take(&[(1, "priv0")]), Err(JoinError::NoPart(1)));
    assert_eq!(take(&[(0, "priv7")]), Err(JoinError::NoKernel { index: 0, kernel: "priv7".to_owned() }));
    assert_eq!(take(&[(0, "priv0"), (0, "priv0")]), Err(JoinError::Twice("priv0".to_owned())));
    assert!(matches!(
        join::join(&[b"\x7fELF"], &[]),
        Err(JoinError::Part { index: 0, error: PartError::NotZebin(_) })
    ));
    // Damage is answered, never followed: every byte of the headers and tables, changed.
    let all: Vec<(usize, String)> = vec![(0, "priv0".to_owned()), (0, "nopriv".to_owned())];
    for at in (0..one.len()).step_by(7) {
        let mut bad = one.clone();
        bad[at] ^= 0xff;
        let _ = join::join(&[&bad], &all);
        let _ = join::join(&[&one[..at]], &all);
    }
}

//! The variants of the matrices, with the real compiler: the private sizes that the expectations rest on, and the sizes
//! of images that a row is about.

mod support;

use std::path::Path;
use std::time::Duration;

use repro_matrix::build::{Builder, Target};
use repro_matrix::matrix;
use repro_matrix::model::arm::Variant;
use support::{Tree, builder};

/// Private bytes per thread of the whole module, and the bytes of its image.
fn build(tree: &Tree, variant: &Variant) -> (u64, u64) {
    let dir = tempfile::tempdir().unwrap();
    let builder = Builder { timeout: Duration::from_secs(300), ..builder(tree, dir.path()) };
    let target = Target::for_profile("a770").unwrap();
    let built = builder.build(variant, &target).unwrap_or_else(|error| panic!("{}", error.explain()));
    (built.private_total_per_thread().expect("native modules say it"), built.image_bytes())
}

fn variants(file: &str) -> Vec<Variant> {
    matrix::load(Path::new(file)).unwrap().variants.into_values().collect()
}

/// One kernel of each variant gives the size that makes the variant lie where its name says.
#[test]
fn every_variant_lies_on_its_side_of_the_threshold() {
    const THREADS: u64 = 4096;
    const GLOBAL_MEMORY: u64 = 16_225_245_593;
    let over = ["over", "b32-330", "b16-596"];
    let tree = Tree::open();
    for file in ["matrices/dg2-private.toml", "matrices/smoke.toml"] {
        for variant in variants(file) {
            let one = Variant { kernels: 1, plain_kernels: 0, padding: 0, ..variant.clone() };
            let (private, _) = build(&tree, &one);
            let total = private * u64::from(variant.kernels) * THREADS;
            if variant.name == "over-per_kernel" {
                assert!(private * THREADS < GLOBAL_MEMORY && total > GLOBAL_MEMORY);
            } else {
                let is_over = total > GLOBAL_MEMORY;
                assert_eq!(is_over, over.contains(&variant.name.as_str()), "{} {total}", variant.name);
            }
        }
    }
}

/// "Big image, few kernels" says something only if the image is bigger than the corrupting one.
#[test]
fn big16_is_a_bigger_image_than_over() {
    let tree = Tree::open();
    let all = variants("matrices/dg2-private.toml");
    let named = |name: &str| all.iter().find(|variant| variant.name == name).unwrap();
    let over = named("over");
    let size = |kernels| build(&tree, &Variant { kernels, ..over.clone() }).1;
    // 174 kernels take 20 s to compile and differ only in their names, so the growth per kernel is measured.
    let (four, eight) = (size(4), size(8));
    let over_bytes = eight + (eight - four) / 4 * (u64::from(over.kernels) - 8);
    let (private, big) = build(&tree, named("big16"));
    assert!(big > over_bytes, "big16 {big} B, over about {over_bytes} B");
    assert_eq!(private, 16 * build(&tree, &Variant { kernels: 1, ..over.clone() }).0);
    println!("big16 {big} B, over about {over_bytes} B");
}

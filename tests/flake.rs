//! flake.nix is valid Nix. It is parsed, not evaluated: that needs nixpkgs.

#[test]
fn flake_parses() {
    let text = include_str!("../flake.nix");
    let parsed = rnix::Root::parse(text);
    assert!(parsed.errors().is_empty(), "{:?}", parsed.errors());
    // The parser does refuse what is wrong: one brace less.
    let broken = text.trim_end().strip_suffix('}').expect("flake.nix ends in a brace");
    assert!(!rnix::Root::parse(broken).errors().is_empty());
}

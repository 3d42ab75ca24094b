//! `docs/conformance.md` says what lists and comments say.
extern crate anabranch_requirements as requirements;

use std::path::Path;

#[test]
fn the_document_is_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("root");
    let text = requirements::conformance(&root).unwrap_or_else(|error| panic!("{error}"));
    let there = std::fs::read_to_string(root.join("docs/conformance.md")).expect("the document");
    assert!(text == there, "run cargo run -p anabranch-requirements");
}

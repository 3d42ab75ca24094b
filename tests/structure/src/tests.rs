use super::*;

#[test]
fn long_files_and_functions_are_found() {
    let body = "    let _ = 1;\n".repeat(60);
    let text = format!("fn short() {{\n}}\nimpl X {{\n  fn long() {{\n{body}  }}\n}}\n");
    assert_eq!(sizes("f.rs", &text).expect("Rust"), ["long function: f.rs long (62 lines)"]);
    let text = "// x\n".repeat(501);
    assert_eq!(sizes("f.rs", &text).expect("Rust"), ["long file: f.rs (501 lines)"]);
    assert!(sizes("f.rs", &"// x\n".repeat(500)).expect("Rust").is_empty());
    assert!(sizes("f.rs", "fn {").is_err());
}

#[test]
fn allowed_lints_are_found() {
    let text = "#[allow(clippy::too_many_arguments)]\nfn f() {}\n#[allow(dead_code)]\nfn g() {}\n";
    let found = sizes("f.rs", text).expect("Rust");
    assert_eq!(found, ["too many arguments allowed: f.rs (line 1)"]);
}

#[test]
fn crates_that_allow_unsafe_are_found() {
    assert_eq!(unsafety("crates/x", "//! x\n"), Some("unsafe: crates/x does not forbid it".into()));
    assert_eq!(unsafety("crates/x", "//! x\n#![forbid(unsafe_code)]\n"), None);
    assert_eq!(unsafety("crates/device", "//! x\n"), None);
}

#[test]
fn manifests_are_read() {
    assert!(manifest("x", "[package]\npublish = false\n").is_empty());
    let found =
        manifest("x", "[package]\ndescription = \"x\"\n[lib]\nname = \"net\"\n[dependencies]\n");
    assert!(found.contains(&"manifest: x has no keywords".to_owned()), "{found:?}");
    assert!(found.iter().any(|f| f.contains("another name")), "{found:?}");
    assert!(!found.iter().any(|f| f.contains("description")), "{found:?}");
}

#[test]
fn what_is_allowed_passes_until_it_is_not_needed() {
    let found: BTreeSet<String> =
        ["long file: a.rs (600 lines)", "long file: b.rs (501 lines)"].map(String::from).into();
    let allowed = "# known\nlong file: a.rs\nlong file: gone.rs\n";
    let complaints = complaints(&found, allowed);
    assert_eq!(complaints.len(), 2, "{complaints:?}");
    assert_eq!(complaints[0], "long file: b.rs (501 lines)");
    assert!(complaints[1].starts_with("long file: gone.rs: "));
}

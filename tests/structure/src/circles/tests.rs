use super::*;

/// A crate of these files, removed when dropped.
struct Crate(std::path::PathBuf);

impl Crate {
    fn new(name: &str, files: &[(&str, &str)]) -> Crate {
        let unique = format!("anabranch-structure-{}-{name}", std::process::id());
        let folder = std::env::temp_dir().join(unique);
        for (file, text) in files {
            let path = folder.join("src").join(file);
            std::fs::create_dir_all(path.parent().expect("in src")).expect("folder");
            std::fs::write(path, text).expect("file");
        }
        Crate(folder)
    }

    fn circles(&self) -> Vec<String> {
        circles("it", &self.0).expect("read")
    }
}

impl Drop for Crate {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn arrows_one_way_are_no_circle() {
    let it = Crate::new(
        "one-way",
        &[
            ("lib.rs", "mod a; mod b; mod c; pub use c::C;"),
            ("a.rs", "use crate::b::B; use super::c; fn f() { c::g() }"),
            ("b.rs", "use crate::c::C; pub struct B(C); #[cfg(test)] mod tests { use crate::a; }"),
            ("c.rs", "pub struct C; pub fn g() {}"),
        ],
    );
    assert_eq!(it.circles(), Vec::<String>::new());
}

#[test]
fn a_circle_of_three_is_one_finding() {
    let it = Crate::new(
        "three",
        &[
            ("lib.rs", "mod a; mod b; mod c; mod d;"),
            ("a.rs", "use crate::b::B;"),
            ("b.rs", "use super::c::{self as sea, C}; pub struct B;"),
            ("c.rs", "pub struct C; fn f() -> crate::a::A { todo() }"),
            ("d.rs", "use crate::{a, b};"),
        ],
    );
    assert_eq!(it.circles(), ["circle: it a b c"]);
}

#[test]
fn names_that_the_root_passes_on_lead_where_they_come_from() {
    let it = Crate::new(
        "passed-on",
        &[
            ("lib.rs", "mod a; mod b; pub use b::B;"),
            ("a.rs", "use crate::B; pub struct A(B);"),
            ("b.rs", "pub struct B; fn f(_: &crate::a::A) {}"),
        ],
    );
    assert_eq!(it.circles(), ["circle: it a b"]);
}

#[test]
fn nested_modules_count_for_those_they_are_in_and_among_themselves() {
    let it = Crate::new(
        "nested",
        &[
            ("lib.rs", "mod a; mod b;"),
            ("a/mod.rs", "mod x; mod y; pub fn f() {}"),
            ("a/x.rs", "use super::y; use crate::b;"),
            ("a/y.rs", "use super::x; use super::f;"),
            ("b.rs", "mod z;"),
            ("b/z.rs", "use crate::a::f;"),
        ],
    );
    assert_eq!(it.circles(), ["circle: it a b", "circle: it a::x a::y"]);
}

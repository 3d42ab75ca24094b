use super::*;

fn known() -> BTreeSet<String> {
    words("crates/net/src/link/ndp.rs", "// Gone\nfn turn() { mine! { struct TurnTable; } }")
        .expect("Rust")
}

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn names_that_are_not_there_are_found() {
    let text = "`turn()`, `TurnTable`, `net::ndp::turn`, `TurnTable::turn(x)`\nand `std::net::Any` are,\
                \n`net::Gone` and `leave()`\nand `GoneTable` are not; `gone`, `a b::c` are no names\n";
    let expected = ["net::Gone", "leave()", "GoneTable"].map(|n| format!("no such name: a.md {n}"));
    assert_eq!(names(&root(), "a.md", text, &known()), expected);
}

#[test]
fn files_and_links_are_looked_for() {
    let text = "`docs/adding.md` `crates/n*` `crates/none/` `.ci/run tests` [x](docs/adding.md#a-lock)\n\
                [y](docs/adding.md#a-key) [z](no.md) [w](https://example.org/no.md)\n\n\
                ```\n`docs/none.md`\n```\n\na lone ` mark\n\n`docs/none.md`\n";
    let expected = [
        "dead link: README.md docs/adding.md#a-key",
        "dead link: README.md no.md",
        "no such file: README.md crates/none/",
        "no such file: README.md docs/none.md",
    ];
    assert_eq!(names(&root(), "README.md", text, &known()), expected);
}

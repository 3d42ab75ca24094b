use super::*;
use crate::list::{Level, Note};

const LIST: &str = "\
# A protocol of ours
## Opening
MUST-1 must it opens
SHLD-2 should it is quick
  deviates: it is slow, to be sure
3.2/1 must somebody is told
  none: nobody is there
";

/// The form of a comment, taken apart so that this file has none.
fn comment(keys: &str) -> String {
    format!("// RFC {keys}")
}

#[test]
fn a_list_is_read() {
    let rfc = Rfc::parse(7, LIST).expect("a list");
    assert_eq!((rfc.title.as_str(), rfc.rows.len()), ("A protocol of ours", 3));
    assert_eq!(rfc.rows[0].level, Level::Must);
    assert_eq!(rfc.rows[1].note, Some(Note::Deviates("it is slow, to be sure".into())));
    for wrong in ["no title", "# t\nMUST-1 may x", "# t\nMUST must x", "# t\n  none: x"] {
        assert!(Rfc::parse(7, wrong).is_err(), "{wrong}");
    }
    assert!(Rfc::parse(7, "# t\nMUST-1 must a\nMUST-1 must b").is_err(), "twice");
}

#[test]
fn comments_are_found_with_their_items() {
    let text = format!(
        "impl A {{\n    pub(crate) fn open(&self) {{\n        let a = 1;\n        {}\n        go();\n    }}\n}}\n{}\n/// Says.\nconst LEAST: u8 = 1;\n",
        comment("7 MUST-1, SHLD-2"),
        comment("7 3.2/1"),
    );
    let found = tags("crates/a/src/lib.rs", &text).expect("comments");
    let items: Vec<_> =
        found.iter().map(|((_, key), place)| (key.as_str(), place.item.clone())).collect();
    let open = Some("open".to_owned());
    assert_eq!(
        items,
        [("MUST-1", open.clone()), ("SHLD-2", open), ("3.2/1", Some("LEAST".to_owned()))]
    );
    assert!(found.iter().all(|(_, place)| !place.test));
    // What only mentions an RFC is none.
    let other = format!("fn a() {{\n    {}\n}}", comment("7 3.2: says how"));
    assert_eq!(tags("crates/a/src/lib.rs", &other).expect("none"), []);
}

#[test]
fn a_key_that_is_misspelt_is_told() {
    for (keys, wrong) in
        [("7 MUST-1, SHLD2", "SHLD2"), ("7 3.2/1, 3.2", "3.2"), ("7 MUST_1", "MUST_1")]
    {
        let text = format!("fn a() {{\n    {}\n}}", comment(keys));
        let error = tags("crates/a/src/lib.rs", &text).expect_err(keys).to_string();
        assert_eq!(error, format!("crates/a/src/lib.rs:2: `{wrong}` is no key"));
    }
}

#[test]
fn a_test_is_one() {
    let body = |attribute: &str| {
        format!("{attribute}\nfn it_opens() {{\n    {}\n}}\n", comment("7 MUST-1"))
    };
    let found = tags("crates/a/src/a/tests.rs", &body("#[test]")).expect("a test");
    assert!(found[0].1.test);
    assert!(tags("crates/a/src/a/tests.rs", &body("// #[test]")).is_err());
    let script = tags("tests/packetdrill/scripts/a.pkt", &comment("7 MUST-1")).expect("a script");
    assert_eq!((script[0].1.test, &script[0].1.item), (true, &None));
}

#[test]
fn the_tables_say_what_lacks() {
    let rfc = Rfc::parse(7, LIST).expect("a list");
    let place = Place { file: "crates/a/src/b.rs".into(), item: Some("open".into()), test: false };
    let found = Found { code: vec![place], tests: Vec::new() };
    let places = Places::from([((7, "MUST-1".to_owned()), found)]);
    let text = document(&[rfc], &places);
    for line in [
        "| [7](#rfc-7) | 3 | 0 | 1 | 1 | 0 | 1 |",
        "| MUST-1 | must | it opens | [a/b](../crates/a/src/b.rs) `open` | no test of its own |",
        "| SHLD-2 | should | it is quick. **Deviates:** it is slow, to be sure | nothing of its own | no test of its own |",
        "| 3.2/1 | must | somebody is told. *Not the stack's:* nobody is there | – | – |",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
}

use super::*;

#[test]
fn what_is_there_no_more_is_found() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let change = |line: &str| {
        format!(
            "Text\n```diff\n--- a/src/diffs.rs\n+++ b/src/diffs.rs\n@@ -1,2 @@ fn x\n{line}\n+new\n\
             --- /dev/null\n+++ b/src/more.rs\n+all new\n```\n"
        )
    };
    for fits in [" use std::path::Path;", "-use std::path::Path;\n     let mut found = Vec::new();"]
    {
        assert!(diffs(root, "a.md", &change(fits)).is_empty(), "{fits}");
    }
    let found = diffs(root, "a.md", &change(" use std::path::Path;\n-use std::gone::Path;"));
    assert_eq!(found, ["stale change: a.md src/diffs.rs \"use std::gone::Path;\""]);
    // In another order, and in a file that is not there.
    let other = " let mut found = Vec::new();\n use std::path::Path;";
    assert_eq!(diffs(root, "a.md", &change(other)).len(), 1);
    let gone = change(" use std::path::Path;").replace("src/diffs.rs", "src/gone.rs");
    assert_eq!(diffs(root, "a.md", &gone).len(), 1);
}

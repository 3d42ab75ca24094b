//! Changes that the documentation shows as an example: they still fit what is there.

use std::path::Path;

/// Lines of the changes in the Markdown file `name` that say what is there already, and are not
/// in the file that is changed, in this order. A change is a block of code called `diff`.
pub fn diffs(root: &Path, name: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for block in text.split("```diff\n").skip(1) {
        let block = block.split("```").next().unwrap_or(block);
        let (mut path, mut file, mut at) = ("", String::new(), 0);
        for line in block.lines() {
            if let Some(old) = line.strip_prefix("--- ") {
                path = old.strip_prefix("a/").unwrap_or("");
                file = std::fs::read_to_string(root.join(path)).unwrap_or_default();
                at = 0;
            } else if line.starts_with("@@") {
                at = 0;
            } else if let Some(kept) = line.strip_prefix([' ', '-']).filter(|_| !path.is_empty()) {
                let kept = kept.trim();
                let mut lines = file.lines().skip(at);
                match lines.position(|line| line.trim() == kept) {
                    Some(place) => at += place + 1,
                    None => found.push(format!("stale change: {name} {path} \"{kept}\"")),
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests;

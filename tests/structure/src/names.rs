//! Names in the documentation: what it names is there.

use proc_macro2::{TokenStream, TokenTree};
use std::collections::BTreeSet;
use std::io;
use std::path::Path;

/// Where files are that the documentation names from the root on.
const FOLDERS: [&str; 11] = [
    ".ci/",
    "bench/",
    "crates/",
    "deploy/",
    "docs/",
    "examples/",
    "experiments/",
    "fuzz/",
    "results/",
    "scripts/",
    "tests/",
];

/// Names of others: of `std` and of tokio, also those that are said to have no counterpart here.
const OTHERS: [&str; 7] =
    ["std", "core", "tokio", "TcpSocket", "from_std", "into_std", "into_incoming"];

/// The identifiers in a Rust file, and the names in its path, which are those of modules.
///
/// # Errors
/// The file is not Rust.
pub fn words(name: &str, text: &str) -> io::Result<BTreeSet<String>> {
    let error = |e| io::Error::other(format!("{name}: {e}"));
    let mut found = BTreeSet::new();
    gather(text.parse().map_err(|e: proc_macro2::LexError| error(e.to_string()))?, &mut found);
    found.extend(name.trim_end_matches(".rs").split('/').map(str::to_owned));
    Ok(found)
}

fn gather(tokens: TokenStream, found: &mut BTreeSet<String>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => gather(group.stream(), found),
            TokenTree::Ident(ident) => drop(found.insert(ident.to_string())),
            _ => {}
        }
    }
}

/// What the Markdown file `name` of the workspace at `root` names and there is not: files and
/// headings that it links to, files in code, and Rust's names in code, of which `words` has all
/// there are. Blocks of code do not count.
pub fn names(root: &Path, name: &str, text: &str, words: &BTreeSet<String>) -> Vec<String> {
    let file = root.join(name);
    let folder = file.parent().unwrap_or(root);
    let is_there = |path: &str| root.join(path).exists() || folder.join(path).exists();
    let mut found = Vec::new();
    for paragraph in paragraphs(text) {
        for target in targets(&paragraph).filter(|target| !leads_to(&file, target)) {
            found.push(format!("dead link: {name} {target}"));
        }
        for span in paragraph.split('`').skip(1).step_by(2) {
            if FOLDERS.iter().any(|folder| span.starts_with(folder)) {
                let path = span.split_whitespace().next().unwrap_or(span);
                let path = before_stars(path);
                if !is_there(path) {
                    found.push(format!("no such file: {name} {path}"));
                }
            } else if !is_known(span, words) {
                found.push(format!("no such name: {name} {span}"));
            }
        }
    }
    found
}

/// The folder in which `*` or `…` stand for names.
fn before_stars(path: &str) -> &str {
    let Some(at) = path.find(['*', '…']) else { return path };
    &path[..path[..at].rfind('/').map_or(0, |slash| slash + 1)]
}

/// The text's paragraphs, without blocks of code. A mark that has no other ends with its
/// paragraph.
fn paragraphs(text: &str) -> Vec<String> {
    let (mut all, mut in_code) = (vec![String::new()], false);
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if in_code || line.trim().is_empty() || line.trim_start().starts_with("```") {
            all.push(String::new());
        } else if let Some(last) = all.last_mut() {
            last.push_str(line.trim());
            last.push(' ');
        }
    }
    all
}

/// What a paragraph links to.
fn targets(paragraph: &str) -> impl Iterator<Item = &str> {
    paragraph.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0))
}

/// Is there such a file, and such a heading in it? What is elsewhere counts as there.
fn leads_to(from: &Path, target: &str) -> bool {
    if target.contains("://") {
        return true;
    }
    let (path, heading) = target.split_once('#').unwrap_or((target, ""));
    let file = match path {
        "" => from.to_owned(),
        path => from.parent().unwrap_or(from).join(path),
    };
    if heading.is_empty() {
        return file.exists();
    }
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines().filter(|line| line.starts_with('#')).any(|line| anchor(line) == heading)
}

/// What a heading is linked to by.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Is this no name of Rust's, or one whose parts are all there? Names are paths, calls, and
/// words with a capital in the middle.
fn is_known(span: &str, words: &BTreeSet<String>) -> bool {
    let path = span.split_once('(').map_or(span, |(path, _)| path);
    let parts: Vec<&str> = path.split("::").collect();
    let is_word = |part: &&str| {
        let mut letters = part.chars();
        letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
            && letters.all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let has_hump = |part: &str| {
        let mut letters = part.chars();
        letters.next().is_some_and(|c| c.is_ascii_uppercase())
            && letters.next().is_some_and(|c| c.is_ascii_lowercase())
            && letters.any(|c| c.is_ascii_uppercase())
    };
    let is_name = parts.len() > 1 || span.ends_with("()") || has_hump(path);
    if !is_name || !parts.iter().all(is_word) {
        return true;
    }
    let is_others = |part: &&str| OTHERS.contains(part);
    is_others(&parts[0]) || parts.iter().all(|part| words.contains(*part) || is_others(part))
}

#[cfg(test)]
mod tests;

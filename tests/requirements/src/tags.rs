//! Comments that say what a place is for.

use crate::Key;
use crate::list::is_key;
use std::io;

/// A place that a comment stands at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file, from the root of the workspace.
    pub file: String,
    /// The function or other item; none in a script.
    pub item: Option<String>,
    /// Is it a test?
    pub test: bool,
}

/// What the comments of a file name, each with its place.
///
/// # Errors
/// A comment in a file of tests that stands at no test; one that has a key beside what is none.
pub fn tags(file: &str, text: &str) -> io::Result<Vec<(Key, Place)>> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let keys = keys(line)
            .map_err(|word| io::Error::other(format!("{file}:{}: `{word}` is no key", at + 1)))?;
        if keys.is_empty() {
            continue;
        }
        let script = file.ends_with(".pkt");
        let item = if script { None } else { item(&lines, at) };
        let test = script || is_of_tests(file);
        if !script && item.is_none() {
            return Err(io::Error::other(format!("{file}:{}: stands in no item", at + 1)));
        }
        if test && !script && file.starts_with("crates/") && !is_test(&lines, at) {
            return Err(io::Error::other(format!("{file}:{}: stands in no test", at + 1)));
        }
        let place = Place { file: file.to_owned(), item, test };
        found.extend(keys.into_iter().map(|key| (key, place.clone())));
    }
    Ok(found)
}

fn is_of_tests(file: &str) -> bool {
    file.starts_with("tests/") || file.contains("/tests/") || file.ends_with("tests.rs")
}

/// The keys that a line names, if it is such a comment.
///
/// # Errors
/// The word that is no key, where another is one, or one of them begins as keys do.
fn keys(line: &str) -> Result<Vec<Key>, &str> {
    let words = || -> Option<(u16, Vec<&str>)> {
        let rest = line.trim_start().strip_prefix("// RFC ")?;
        let (number, words) = rest.split_once(' ')?;
        Some((number.parse().ok()?, words.split(", ").collect()))
    };
    let Some((number, words)) = words() else { return Ok(Vec::new()) };
    match words.iter().find(|word| !is_key(word)) {
        None => Ok(words.iter().map(|key| (number, (*key).to_owned())).collect()),
        Some(wrong) if words.iter().any(|word| is_meant(word)) => Err(wrong),
        Some(_) => Ok(Vec::new()),
    }
}

/// Is it a key, or meant to be one? A sentence is not.
fn is_meant(word: &str) -> bool {
    let begins = ["MUST", "SHLD", "REC"].iter().any(|kind| word.starts_with(kind));
    is_key(word) || (begins && !word.contains(' '))
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// What a line declares.
fn declared(line: &str) -> Option<(&str, &str)> {
    const KINDS: [&str; 7] = ["fn", "const", "static", "struct", "enum", "trait", "type"];
    let line = line.trim_start();
    let line = match line.strip_prefix("pub(").and_then(|rest| rest.split_once(") ")) {
        Some((_, rest)) => rest,
        None => line.strip_prefix("pub ").unwrap_or(line),
    };
    let mut words = line.split_whitespace().peekable();
    loop {
        let word = words.next()?;
        let next = *words.peek()?;
        if KINDS.contains(&word) && !(word == "const" && next.starts_with("fn")) {
            let end = next.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(next.len());
            return Some((word, &next[..end]));
        }
        if !["const", "async", "unsafe"].contains(&word) {
            return None;
        }
    }
}

/// The item that line `at` stands in, or before.
fn item(lines: &[&str], at: usize) -> Option<String> {
    let depth = indentation(lines[at]);
    let below = lines[at + 1..].iter().find(|line| {
        let line = line.trim_start();
        !line.starts_with("//") && !line.starts_with("#[")
    });
    let below = below.filter(|line| indentation(line) == depth);
    if let Some((_, name)) = below.and_then(|line| declared(line)) {
        return Some(name.to_owned());
    }
    let (_, name) = enclosing(lines, at).and_then(|at| declared(lines[at]))?;
    Some(name.to_owned())
}

/// The line that declares what line `at` stands in.
fn enclosing(lines: &[&str], at: usize) -> Option<usize> {
    let depth = indentation(lines[at]);
    let outside = |at: &usize| indentation(lines[*at]) < depth && !lines[*at].trim().is_empty();
    (0..at).rev().filter(outside).find(|at| declared(lines[*at]).is_some())
}

/// Stands line `at` in a function with `#[test]`, or one that `proptest!` makes a test?
fn is_test(lines: &[&str], at: usize) -> bool {
    let Some(at) = enclosing(lines, at) else { return false };
    lines[..at]
        .iter()
        .rev()
        .take_while(|line| {
            let line = line.trim_start();
            line.starts_with("#[") || line.starts_with("//")
        })
        .any(|line| line.trim_start().starts_with("#[test]"))
}

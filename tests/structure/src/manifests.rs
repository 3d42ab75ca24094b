//! What every package says of itself.

/// What a package that is published has to say, each at the start of a line.
const FIELDS: [&str; 7] = [
    "description",
    "license",
    "repository",
    "keywords",
    "categories",
    "documentation",
    "rust-version",
];

/// What the manifest of package `name` lacks, or has too much.
pub fn manifest(name: &str, text: &str) -> Vec<String> {
    let has = |start: &str| text.lines().any(|line| line.trim_start().starts_with(start));
    if has("publish = false") {
        return Vec::new();
    }
    let mut found: Vec<String> = FIELDS
        .into_iter()
        .filter(|field| !has(field))
        .map(|field| format!("manifest: {name} has no {field}"))
        .collect();
    if !has("[package.metadata.docs.rs]") {
        found.push(format!("manifest: {name} has no targets for docs.rs"));
    }
    let library = text.split("[lib]").nth(1).and_then(|rest| rest.split("\n[").next());
    if library.is_some_and(|table| table.lines().any(|line| line.starts_with("name"))) {
        found.push(format!("manifest: {name} gives its library another name than its own"));
    }
    found
}

//! Circles between modules that stand side by side.

use crate::tree::{self, Module, Tree};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

/// Circles in the crate `name` in `folder`, one for each set of modules that all use
/// each other, directly or through others. What a module uses counts for all that it
/// is in, and so does what is used of it.
///
/// # Errors
/// Files that cannot be read or parsed.
pub fn circles(name: &str, folder: &Path) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    for root in ["src/lib.rs", "src/main.rs"] {
        for circle in in_tree(&tree::read(&folder.join(root))?) {
            found.push(format!("circle: {name} {}", circle.join(" ")));
        }
    }
    Ok(found)
}

type Arrows = BTreeMap<Module, BTreeSet<Module>>;

/// Circles of a tree of modules, each as its modules.
pub(crate) fn in_tree(tree: &Tree) -> Vec<Vec<String>> {
    let arrows = arrows(tree);
    let reach: BTreeMap<&Module, BTreeSet<&Module>> =
        arrows.keys().map(|from| (from, reachable(&arrows, from))).collect();
    let mut circles = BTreeSet::new();
    for (from, targets) in &reach {
        let circle: BTreeSet<String> = targets
            .iter()
            .filter(|to| reach.get(*to).is_some_and(|back| back.contains(from)))
            .map(|module| module.join("::"))
            .collect();
        if circle.len() > 1 {
            circles.insert(circle);
        }
    }
    circles.into_iter().map(|circle| circle.into_iter().collect()).collect()
}

/// Which modules use which of those beside them.
fn arrows(tree: &Tree) -> Arrows {
    let mut arrows = Arrows::new();
    for (from, contents) in tree {
        for path in &contents.paths {
            let Some(to) = resolve(tree, from, path, 8) else { continue };
            let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
            if common < from.len() && common < to.len() {
                let beside = |module: &Module| module[..=common].to_vec();
                arrows.entry(beside(from)).or_default().insert(beside(&to));
            }
        }
    }
    arrows
}

/// The module that `path`, as written in `from`, leads into. A name that a module has
/// by `use` leads to where that comes from, through `steps` of them at most.
fn resolve(tree: &Tree, from: &Module, path: &[String], steps: usize) -> Option<Module> {
    let (mut at, mut rest) = match path.first()?.as_str() {
        "crate" => (Module::new(), &path[1..]),
        "self" => (from.clone(), &path[1..]),
        "super" => (from.clone(), path),
        first if steps < 8 || tree.contains_key(&child(from, first)) => (from.clone(), path),
        _ => return None,
    };
    while let Some(name) = rest.first() {
        if name == "super" {
            at.pop()?;
        } else if tree.contains_key(&child(&at, name)) {
            at.push(name.clone());
        } else {
            let import = tree.get(&at).and_then(|contents| contents.imports.get(name));
            // What is imported where it is used is an arrow of the import's own.
            return match import {
                Some(import) if steps > 0 && at != *from && import != path => {
                    resolve(tree, &at, import, steps - 1).or(Some(at))
                }
                _ => Some(at),
            };
        }
        rest = &rest[1..];
    }
    Some(at)
}

fn child(module: &Module, name: &str) -> Module {
    [module.as_slice(), &[name.to_owned()]].concat()
}

fn reachable<'a>(arrows: &'a Arrows, from: &Module) -> BTreeSet<&'a Module> {
    let mut seen = BTreeSet::new();
    let mut open: Vec<&Module> = arrows.get(from).into_iter().flatten().collect();
    while let Some(next) = open.pop() {
        if seen.insert(next) {
            open.extend(arrows.get(next).into_iter().flatten());
        }
    }
    seen
}

#[cfg(test)]
mod tests;

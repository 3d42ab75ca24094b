//! The modules of a crate, and which paths each of them uses.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use syn::visit::{self, Visit};

/// The path of a module, without the crate.
pub(crate) type Module = Vec<String>;

/// A module: its names from elsewhere, and the paths it uses.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    /// Names that `use` gives, and the paths that they stand for.
    pub(crate) imports: BTreeMap<String, Vec<String>>,
    /// Paths that are used, as they are written.
    pub(crate) paths: Vec<Vec<String>>,
}

/// All modules of a crate, but for those of tests.
pub(crate) type Tree = BTreeMap<Module, Contents>;

/// Reads the crate whose root is this file; nothing if there is none.
pub(crate) fn read(root: &Path) -> io::Result<Tree> {
    let mut tree = Tree::new();
    if root.exists() {
        add(&mut tree, Vec::new(), root)?;
    }
    Ok(tree)
}

fn add(tree: &mut Tree, module: Module, file: &Path) -> io::Result<()> {
    let text = std::fs::read_to_string(file)?;
    let parsed =
        syn::parse_file(&text).map_err(|e| crate::unreadable(&file.display().to_string(), &e))?;
    let stem = file.file_stem().unwrap_or_default();
    let folder = file.parent().unwrap_or(Path::new("."));
    let inside = match stem.to_str() {
        Some("lib" | "main" | "mod") => folder.to_owned(),
        _ => folder.join(stem),
    };
    let mut reader = Reader { tree, module, outside: Vec::new() };
    reader.visit_file(&parsed);
    let (depth, outside) = (reader.module.len(), reader.outside);
    for child in outside {
        let Some(name) = child.last() else { continue };
        // Inline modules on the way are folders.
        let within: std::path::PathBuf = child[depth..child.len() - 1].iter().collect();
        let folder = inside.join(within);
        let file = [folder.join(format!("{name}.rs")), folder.join(name).join("mod.rs")];
        if let Some(file) = file.into_iter().find(|file| file.exists()) {
            add(tree, child, &file)?;
        }
    }
    Ok(())
}

struct Reader<'a> {
    tree: &'a mut Tree,
    module: Module,
    /// Modules in files of their own.
    outside: Vec<Module>,
}

impl Reader<'_> {
    fn contents(&mut self) -> &mut Contents {
        self.tree.entry(self.module.clone()).or_default()
    }

    fn import(&mut self, prefix: &[String], tree: &syn::UseTree) {
        let with = |name: &syn::Ident| [prefix, &[name.to_string()]].concat();
        match tree {
            syn::UseTree::Path(path) => self.import(&with(&path.ident), &path.tree),
            syn::UseTree::Name(name) => self.bind(&name.ident.to_string(), with(&name.ident)),
            syn::UseTree::Rename(rename) => {
                self.bind(&rename.rename.to_string(), with(&rename.ident))
            }
            syn::UseTree::Glob(_) => self.contents().paths.push(prefix.to_vec()),
            syn::UseTree::Group(group) => {
                group.items.iter().for_each(|item| self.import(prefix, item))
            }
        }
    }

    fn bind(&mut self, name: &str, mut path: Vec<String>) {
        let mut name = name.to_owned();
        // `use a::{self}` gives the name `a`.
        if name == "self" && path.len() > 1 {
            path.pop();
            name = path.last().cloned().unwrap_or_default();
        }
        self.contents().paths.push(path.clone());
        self.contents().imports.insert(name, path);
    }
}

fn is_of_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::List(list) if list.path.is_ident("cfg") => {
            let condition = list.tokens.to_string();
            condition.split(|c: char| !c.is_alphanumeric()).any(|word| word == "test")
        }
        _ => false,
    })
}

impl<'a> Visit<'a> for Reader<'_> {
    fn visit_item_mod(&mut self, module: &'a syn::ItemMod) {
        if is_of_tests(&module.attrs) {
            return;
        }
        let child = [self.module.as_slice(), &[module.ident.to_string()]].concat();
        if module.content.is_some() {
            let parent = std::mem::replace(&mut self.module, child);
            self.contents();
            visit::visit_item_mod(self, module);
            self.module = parent;
        } else {
            self.outside.push(child);
        }
    }

    fn visit_item_use(&mut self, item: &'a syn::ItemUse) {
        if !is_of_tests(&item.attrs) {
            self.import(&[], &item.tree);
        }
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        let names = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.contents().paths.push(names);
        visit::visit_path(self, path);
    }

    fn visit_visibility(&mut self, _: &'a syn::Visibility) {}

    fn visit_file(&mut self, file: &'a syn::File) {
        self.contents();
        visit::visit_file(self, file);
    }
}

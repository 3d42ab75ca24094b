//! Lines of files and functions, and lints that are allowed.

use std::io;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// The most lines of a file.
const FILE: usize = 500;
/// The most lines of a function, from its signature to its end.
const FUNCTION: usize = 60;

struct Functions<'a> {
    file: &'a str,
    found: Vec<String>,
}

impl Functions<'_> {
    fn measure(&mut self, signature: &syn::Signature, whole: proc_macro2::Span) {
        let lines = whole.end().line - signature.span().start().line + 1;
        if lines > FUNCTION {
            self.found
                .push(format!("long function: {} {} ({lines} lines)", self.file, signature.ident));
        }
    }
}

impl<'a> Visit<'a> for Functions<'_> {
    fn visit_item_fn(&mut self, function: &'a syn::ItemFn) {
        self.measure(&function.sig, function.block.span());
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'a syn::ImplItemFn) {
        self.measure(&function.sig, function.block.span());
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'a syn::TraitItemFn) {
        if let Some(block) = &function.default {
            self.measure(&function.sig, block.span());
        }
        visit::visit_trait_item_fn(self, function);
    }

    fn visit_attribute(&mut self, attribute: &'a syn::Attribute) {
        if let syn::Meta::List(list) = &attribute.meta
            && (list.path.is_ident("allow") || list.path.is_ident("expect"))
            && list.tokens.to_string().contains("too_many_arguments")
        {
            let line = attribute.span().start().line;
            self.found.push(format!("too many arguments allowed: {} (line {line})", self.file));
        }
    }
}

/// What is too large in the file `name` of this text, and what it allows itself.
///
/// # Errors
/// A text that is not Rust.
pub fn sizes(name: &str, text: &str) -> io::Result<Vec<String>> {
    let parsed = syn::parse_file(text).map_err(|e| crate::unreadable(name, &e))?;
    let mut functions = Functions { file: name, found: Vec::new() };
    functions.visit_file(&parsed);
    let lines = text.lines().count();
    if lines > FILE {
        functions.found.push(format!("long file: {name} ({lines} lines)"));
    }
    Ok(functions.found)
}

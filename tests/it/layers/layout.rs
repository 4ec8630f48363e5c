//! What `syn` knows of a file: its modules, its test code and its functions, by line.

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::Source;

#[derive(Default)]
pub struct Layout {
    /// From the crate root; empty for `lib.rs` and `main.rs`.
    pub module: Vec<String>,
    inline_modules: Vec<(Lines, Vec<String>)>,
    pub test_code: Vec<Lines>,
    /// Modules that are test code in files of their own.
    pub test_files: Vec<Vec<String>>,
    pub functions: Vec<(Lines, String)>,
}

pub type Lines = std::ops::RangeInclusive<usize>;

impl Layout {
    pub fn of(source: &Source, file: &syn::File) -> Self {
        let module = module_of(&source.path);
        let mut layout = Self { module: module.clone(), ..Self::default() };
        if is_test(&file.attrs) {
            layout.test_code.push(1..=usize::MAX);
        }
        Surveyor { layout: &mut layout, module }.visit_file(file);
        layout
    }

    /// The module path of a line, from the crate root; the innermost inline module decides.
    pub fn module_at(&self, line: usize) -> &[String] {
        let innermost = self.inline_modules.iter().rev().find(|(lines, _)| lines.contains(&line));
        innermost.map_or(&self.module, |(_, module)| module)
    }
}

/// `catalog/import/mcp.rs` is the module `catalog::import::mcp`.
pub fn module_of(path: &str) -> Vec<String> {
    let mut module: Vec<String> =
        path.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if matches!(module.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        module.pop();
    }
    module
}

struct Surveyor<'a> {
    layout: &'a mut Layout,
    module: Vec<String>,
}

impl Surveyor<'_> {
    fn function(&mut self, attrs: &[syn::Attribute], signature: &syn::Signature, end: Span) {
        let lines = signature.fn_token.span.start().line..=end.end().line;
        if is_test(attrs) {
            self.layout.test_code.push(lines.clone());
        }
        self.layout.functions.push((lines, signature.ident.to_string()));
    }
}

impl<'ast> Visit<'ast> for Surveyor<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let attrs = match item {
            syn::Item::Impl(item) => &item.attrs,
            syn::Item::Use(item) => &item.attrs,
            syn::Item::Struct(item) => &item.attrs,
            syn::Item::Enum(item) => &item.attrs,
            syn::Item::Const(item) => &item.attrs,
            syn::Item::Static(item) => &item.attrs,
            syn::Item::Macro(item) => &item.attrs,
            _ => return visit::visit_item(self, item),
        };
        if is_test(attrs) {
            self.layout.test_code.push(lines_of(item.span()));
        }
        visit::visit_item(self, item);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.module.push(item.ident.to_string());
        let lines = lines_of(item.span());
        match (&item.content, is_test(&item.attrs)) {
            (Some(_), true) => self.layout.test_code.push(lines.clone()),
            (None, true) => self.layout.test_files.push(self.module.clone()),
            _ => {}
        }
        if item.content.is_some() {
            self.layout.inline_modules.push((lines, self.module.clone()));
        }
        visit::visit_item_mod(self, item);
        self.module.pop();
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(&item.attrs, &item.sig, item.block.brace_token.span.close());
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(&item.attrs, &item.sig, item.block.brace_token.span.close());
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.function(&item.attrs, &item.sig, block.brace_token.span.close());
        }
        visit::visit_trait_item_fn(self, item);
    }
}

fn lines_of(span: Span) -> Lines {
    span.start().line..=span.end().line
}

/// Whether attributes say `test`, `cfg(test)` or `cfg(all(test, …))`, but not `cfg(not(test))`.
fn is_test(attrs: &[syn::Attribute]) -> bool {
    attrs.iter().any(|attr| match &attr.meta {
        syn::Meta::Path(path) => path.is_ident("test"),
        syn::Meta::List(list) if list.path.is_ident("cfg") => {
            let mut words = Vec::new();
            idents(list.tokens.clone(), &mut words);
            let says = |word: &str| words.iter().any(|found| found == word);
            says("test") && !says("not") && !says("any")
        }
        _ => false,
    })
}

/// Every identifier of a stream, however deep; strings are none.
fn idents(stream: TokenStream, found: &mut Vec<String>) {
    for token in stream {
        match token {
            TokenTree::Ident(ident) => found.push(ident.to_string()),
            TokenTree::Group(group) => idents(group.stream(), found),
            _ => {}
        }
    }
}

//! A kernel as a tree that can be printed and taken apart: text with `$0`, `$1` … in the places of the parts.

use std::fmt::Write as _;

use super::types::Ty;

/// An expression, with parentheses around it where it needs them.
#[derive(Clone, Debug)]
pub struct Expr {
    pub ty: Ty,
    pub text: String,
    pub kids: Vec<Expr>,
}

impl Expr {
    pub fn new(ty: Ty, text: impl Into<String>, kids: Vec<Self>) -> Self {
        Self { ty, text: text.into(), kids }
    }

    fn print(&self, out: &mut String) {
        fill(&self.text, &self.kids, out);
    }

    pub fn size(&self) -> usize {
        1 + self.kids.iter().map(Self::size).sum::<usize>()
    }
}

fn fill(text: &str, kids: &[Expr], out: &mut String) {
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        let digit = rest[at + 1..].chars().next().and_then(|c| c.to_digit(10)).expect("a digit behind $");
        kids[digit as usize].print(out);
        rest = &rest[at + 2..];
    }
    out.push_str(rest);
}

/// Statements between `open` and `close`.
#[derive(Clone, Debug)]
pub struct Block {
    pub open: String,
    pub body: Vec<Stmt>,
    pub close: String,
}

/// A statement: `head`, then its blocks, then `tail`.
#[derive(Clone, Debug, Default)]
pub struct Stmt {
    pub head: String,
    pub kids: Vec<Expr>,
    pub blocks: Vec<Block>,
    pub tail: String,
}

impl Stmt {
    pub fn plain(head: impl Into<String>, kids: Vec<Expr>) -> Self {
        Self { head: head.into(), kids, ..Self::default() }
    }

    pub fn block(mut self, open: impl Into<String>, body: Vec<Self>, close: impl Into<String>) -> Self {
        self.blocks.push(Block { open: open.into(), body, close: close.into() });
        self
    }

    fn print(&self, depth: usize, out: &mut String) {
        let indent = "  ".repeat(depth);
        out.push_str(&indent);
        fill(&self.head, &self.kids, out);
        for block in &self.blocks {
            let _ = writeln!(out, " {}", block.open);
            print_all(&block.body, depth + 1, out);
            let _ = write!(out, "{indent}{}", block.close);
        }
        fill(&self.tail, &self.kids, out);
        out.push('\n');
    }
}

pub fn print_all(statements: &[Stmt], depth: usize, out: &mut String) {
    statements.iter().for_each(|statement| statement.print(depth, out));
}

/// A variable at the kernel's start: any statement may go without another one missing a declaration.
#[derive(Clone, Debug)]
pub struct Variable {
    pub name: String,
    pub init: Expr,
}

/// Functions beside the kernel, with their text up to the returned expression.
#[derive(Clone, Debug)]
pub struct Helper {
    pub head: String,
    pub result: Expr,
}

/// A kernel without its launch.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    pub helpers: Vec<Helper>,
    /// Arrays in local and private memory, and how the latter are filled: whole lines.
    pub arrays: Vec<String>,
    pub variables: Vec<Variable>,
    pub body: Vec<Stmt>,
}

impl Tree {
    /// `name`: of the kernel. `stride`: bytes of the output a work-item. `shape`: kernel attributes.
    pub fn print(&self, name: &str, stride: usize) -> String {
        let mut out = String::new();
        for helper in &self.helpers {
            out.push_str(&helper.head);
            out.push_str(" { return ");
            helper.result.print(&mut out);
            out.push_str("; }\n");
        }
        let _ = writeln!(out, "KERNEL void {name}(PARAMETERS) {{\n  PLACE({stride});");
        for line in &self.arrays {
            let _ = writeln!(out, "  {line}");
        }
        for variable in &self.variables {
            let _ = write!(out, "  {} {} = ", variable.init.ty, variable.name);
            variable.init.print(&mut out);
            out.push_str(";\n");
        }
        print_all(&self.body, 1, &mut out);
        out.push_str("}\n");
        // Several kernels in one module: each has functions of its own.
        out.replace("@", &format!("{name}_"))
    }
}

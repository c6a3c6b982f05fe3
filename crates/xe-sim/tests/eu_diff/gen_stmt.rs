//! Kernels, and their statements: assignments, control flow, private arrays.

use super::ast::{Expr, Helper, Stmt, Tree, Variable};
use super::gen_core::{Array, Gen, LENGTHS, ex};
use super::gen_out::{place, store};
use super::kernel::{Check, Kernel};
use super::prelude::{REGION, REGIONS};
use super::types::Scalar::{F32, I32, U32};
use super::types::{Scalar, Ty};
use crate::eu_support::Rng;

/// Seeds from here on.
pub const HALVES: u64 = 1_000_000;
pub const DOUBLES: u64 = 2_000_000;

/// Work-group and grid sizes.
const SHAPES: [([u32; 3], [u32; 3]); 8] = [
    ([32, 1, 1], [3, 1, 1]),
    ([64, 1, 1], [2, 1, 1]),
    ([24, 1, 1], [3, 1, 1]),
    ([40, 1, 1], [2, 1, 1]),
    ([8, 4, 1], [2, 2, 1]),
    ([4, 4, 4], [1, 2, 1]),
    ([5, 3, 2], [2, 1, 2]),
    ([100, 1, 1], [1, 1, 1]),
];

impl Gen {
    fn new(seed: u64) -> Self {
        Self {
            rng: Rng(seed),
            tree: Tree::default(),
            variables: Vec::new(),
            arrays: Vec::new(),
            helpers: Vec::new(),
            counters: Vec::new(),
            names: 0,
            half: false,
            double: false,
            pure: false,
            loops: 0,
        }
    }

    /// The kernel of `seed`; those from [`HALVES`] and [`DOUBLES`] on use half or double precision too.
    pub fn kernel(seed: u64) -> Kernel {
        let mut g = Self::new(seed);
        g.half = (HALVES..DOUBLES).contains(&seed);
        g.double = seed >= DOUBLES;
        let (local, groups) = g.pick(&SHAPES);
        for _ in 0..g.below(3) {
            g.helper();
        }
        for i in 0..3 + g.below(5) {
            let ty = if g.half && g.one_in(2) { Ty::new(Scalar::U16, g.length()) } else { g.any_ty() };
            let ty = if g.double && g.one_in(2) { Ty::new(Scalar::F64, g.pick(&[1, 1, 2, 4])) } else { ty };
            let init = if g.one_in(5) { g.literal(ty) } else { g.leaf(ty) };
            g.tree.variables.push(Variable { name: format!("v{i}"), init });
            g.variables.push(ty);
        }
        for _ in 0..g.below(3) {
            g.array();
        }
        let group_wide = g.one_in(3);
        let mut body = Vec::new();
        let mut slots = Vec::new();
        let mut stride = 0;
        for _ in 0..3 + g.below(6) {
            let statement = match g.below(8) {
                0 | 1 if group_wide => g.phase(),
                2 if !group_wide => g.leave(),
                3 if g.one_in(2) => g.inexact(&mut slots, &mut stride),
                4 if g.one_in(2) => g.vstore_half(&mut slots, &mut stride),
                _ => g.statement(2),
            };
            body.push(statement);
        }
        for i in 0..g.variables.len() {
            let ty = g.variables[i];
            let at = place(ty, Check::Bits, &mut slots, &mut stride);
            let value = ex(ty, format!("v{i}"), Vec::new());
            body.push(store(at, value));
        }
        g.tree.body = body;
        Kernel { seed, tree: g.tree, stride: stride.next_multiple_of(8), slots, local, groups }
    }

    fn helper(&mut self) {
        let count = 1 + self.below(3);
        let args: Vec<Ty> = (0..count).map(|_| self.any_ty()).collect();
        let ty = self.any_ty();
        self.variables.clone_from(&args);
        self.pure = true;
        let result = self.expr(ty, 3);
        self.pure = false;
        self.variables.clear();
        let list: Vec<String> = args.iter().enumerate().map(|(i, ty)| format!("{ty} v{i}")).collect();
        let kind = if self.one_in(2) { "NOINLINE" } else { "static" };
        let head = format!("{kind} {ty} @f{}(uint zero, {})", self.helpers.len(), list.join(", "));
        self.tree.helpers.push(Helper { head, result });
        self.helpers.push((ty, args));
    }

    /// A private array, filled from the input.
    fn array(&mut self) {
        let ty = if self.one_in(3) { Ty::scalar(U32) } else { self.any_ty() };
        let bits = if ty.n > 4 { 2 } else { 2 + self.below(3) as u32 };
        let k = self.arrays.len();
        let index = ex(Ty::scalar(U32), format!("(q * {}u + gid)", 1 + self.below(9)), Vec::new());
        let Expr { text, kids, .. } = self.load(ty, index);
        let mut line = String::new();
        let value = Expr { ty, text, kids };
        let fill = Stmt::plain("$0", vec![value]);
        super::ast::print_all(&[fill], 0, &mut line);
        self.tree.arrays.push(format!("{ty} pa{k}[{}];", 1 << bits));
        self.tree.arrays.push(format!(
            "for (uint q = 0; q < {}u; q++) pa{k}[q] = {};",
            1 << bits,
            line.trim()
        ));
        self.arrays.push(Array { ty, bits });
    }

    pub fn assign(&mut self) -> Stmt {
        let i = self.below(self.variables.len());
        let ty = self.variables[i];
        let depth = 2 + self.below(3);
        if ty.n > 1 && self.one_in(4) {
            // Some of its elements.
            let n = if ty.n > 2 && self.one_in(2) { 2 } else { 1 };
            let first = self.below(ty.n);
            let second = (first + 1 + self.below(ty.n - 1)) % ty.n;
            let at = if n == 2 { format!("{first:x}{second:x}") } else { format!("{first:x}") };
            let value = self.expr(ty.of(n), depth);
            return Stmt::plain(format!("v{i}.s{at} = $0;"), vec![value]);
        }
        let value = self.expr(ty, depth);
        Stmt::plain(format!("v{i} = $0;"), vec![value])
    }

    pub fn statements(&mut self, depth: usize) -> Vec<Stmt> {
        (0..1 + self.below(3)).map(|_| self.statement(depth)).collect()
    }

    pub fn statement(&mut self, depth: usize) -> Stmt {
        let deep = depth > 0;
        match self.below(16) {
            0..=5 => self.assign(),
            6 if !self.arrays.is_empty() => self.array_store(),
            7 => self.atomic(),
            8 => self.own_atomic(),
            9 => self.with_pointer(),
            10 | 11 if deep => self.branch(depth - 1),
            12 if deep && self.loops < 2 => self.for_loop(depth - 1),
            13 if deep && self.loops < 2 => self.while_loop(depth - 1),
            14 if deep => self.switch(depth - 1),
            15 if self.loops > 0 => {
                let condition = self.condition(2);
                let word = self.pick(&["break", "continue"]);
                Stmt::plain(format!("if ($0) {word};"), vec![condition])
            }
            _ => self.assign(),
        }
    }

    fn array_store(&mut self) -> Stmt {
        let i = self.below(self.arrays.len());
        let Array { ty, bits } = self.arrays[i];
        let index = self.expr(Ty::scalar(U32), 2);
        let value = self.expr(ty, 2);
        if ty == Ty::scalar(U32) && self.one_in(3) {
            // Generic: to the array or to the work-item's own word.
            let mask = (1u32 << bits) - 1;
            let condition = self.condition(1);
            return Stmt::plain(
                format!("STORE_EITHER($2, pa{i} + (($0) & {mask}u), at + {} + gid, $1)", REGIONS * REGION),
                vec![index, value, condition],
            );
        }
        Stmt::plain(format!("pa{i}[($0) & {}u] = $1;", (1u32 << bits) - 1), vec![index, value])
    }

    fn branch(&mut self, depth: usize) -> Stmt {
        let condition = self.condition(2);
        let statement = Stmt::plain("if ($0)", vec![condition]).block("{", self.statements(depth), "}");
        if self.one_in(2) { statement } else { statement.block("else {", self.statements(depth), "}") }
    }

    fn for_loop(&mut self, depth: usize) -> Stmt {
        let (i, n) = (self.name("i"), self.name("n"));
        let count = self.expr(Ty::scalar(U32), 2);
        self.counters.push(i.clone());
        self.loops += 1;
        let body = self.statements(depth);
        self.loops -= 1;
        self.counters.pop();
        let most = self.pick(&[1, 3, 7]);
        Stmt::plain(format!("for (uint {i} = 0, {n} = (($0) & {most}u) + 1u; {i} < {n}; {i}++)"), vec![count])
            .block("{", body, "}")
    }

    fn while_loop(&mut self, depth: usize) -> Stmt {
        let fuel = self.name("w");
        let condition = self.condition(2);
        self.loops += 1;
        let body = self.statements(depth);
        self.loops -= 1;
        // `continue` goes to the condition, which uses up the fuel.
        if self.one_in(2) {
            let mut statement =
                Stmt::plain(format!("{{ uint {fuel} = 0; do"), vec![condition]).block("{", body, "}");
            statement.tail = format!(" while (++{fuel} < 6u && ($0)); }}");
            statement
        } else {
            let mut statement =
                Stmt::plain(format!("{{ uint {fuel} = 0; while ({fuel}++ < 6u && ($0))"), vec![condition])
                    .block("{", body, "}");
            statement.tail = " }".into();
            statement
        }
    }

    fn switch(&mut self, depth: usize) -> Stmt {
        let value = self.expr(Ty::scalar(U32), 2);
        let count = 2 + self.below(4);
        let mut statement =
            Stmt::plain(format!("switch (($0) & {}u) {{", if count > 3 { 7 } else { 3 }), vec![value]);
        for k in 0..count {
            let body = self.statements(depth);
            let open = if k + 1 == count { "default: {".into() } else { format!("case {k}: {{") };
            statement = statement.block(open, body, if self.one_in(4) { "}" } else { "} break;" });
        }
        statement.tail = " }".into();
        statement
    }

    /// Ends the work-item early, with a variable stored.
    fn leave(&mut self) -> Stmt {
        let condition = self.condition(2);
        Stmt::plain("if ($0) return;", vec![condition])
    }

    /// Functions with a second result.
    fn with_pointer(&mut self) -> Stmt {
        let n = self.pick(&LENGTHS);
        let find = |g: &mut Self, s: Scalar| {
            let fit: Vec<usize> =
                (0..g.variables.len()).filter(|i| g.variables[*i] == Ty::new(s, n)).collect();
            if fit.is_empty() { None } else { Some(g.pick(&fit)) }
        };
        let Some(to) = find(self, F32) else { return self.assign() };
        let value = self.expr(Ty::new(F32, n), 2);
        let (float, int) = (Ty::new(F32, n), Ty::new(I32, n));
        let name = self.name("t");
        let second = find(self, I32).map_or(String::new(), |i| format!(" v{i} = {name};"));
        match self.below(3) {
            // The device's library makes +0 of -0; the sum does so everywhere.
            0 => Stmt::plain(
                format!("{{ {int} {name}; v{to} = frexp(FIN($0), &{name}) + ({float})(0.0f);{second} }}"),
                vec![value],
            ),
            1 => Stmt::plain(
                format!("{{ {float} {name}; v{to} = modf(FIN($0), &{name}); v{to} += {name}; }}"),
                vec![value],
            ),
            _ => Stmt::plain(
                format!("{{ {float} {name}; v{to} = fract(FIN($0), &{name}); v{to} -= {name}; }}"),
                vec![value],
            ),
        }
    }
}

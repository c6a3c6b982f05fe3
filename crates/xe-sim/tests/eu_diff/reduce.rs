//! Makes a kernel that differs as small as it can while it still differs.

use super::ast::{Expr, Stmt, Tree};
use super::batch::Batch;
use super::kernel::Kernel;

/// Candidates tried in one module.
const AT_ONCE: usize = 10;

/// What kind of difference it is: a reduction must not run after another fault.
fn class(found: &[String]) -> Option<&'static str> {
    let first = found.first()?;
    let known = ["not modelled", "memory fault", "was stopped", "deadlock"];
    Some(known.into_iter().find(|text| first.contains(text)).unwrap_or("different values"))
}

/// The smallest kernel found in `rounds` modules, and what differs in it.
pub fn reduce(kernel: &Kernel, simd: u32, options: &str, rounds: usize) -> (Kernel, Vec<String>) {
    let mut best = kernel.clone();
    let mut found = test(std::slice::from_ref(kernel), simd, options).pop().unwrap_or_default();
    let Some(wanted) = class(&found) else { return (best, found) };
    let mut left = rounds;
    let mut start = 0;
    // A whole sweep without a success ends it.
    let mut idle = false;
    while left > 0 {
        let candidates: Vec<Kernel> =
            (start..).map_while(|k| candidate(&best, k)).flatten().take(AT_ONCE).collect();
        let next = start + tried(&best, start);
        if candidates.is_empty() {
            if idle {
                break;
            }
            (start, idle) = (0, true);
            continue;
        }
        left -= 1;
        let results = test(&candidates, simd, options);
        let good = candidates.into_iter().zip(results).filter(|(_, found)| class(found) == Some(wanted));
        match good.min_by_key(|(kernel, _)| kernel.tree.size()) {
            Some(smaller) => {
                (best, found) = smaller;
                idle = false;
            }
            None => start = next,
        }
    }
    (best, found)
}

/// How many numbers from `start` on [`AT_ONCE`] candidates take up.
fn tried(kernel: &Kernel, start: usize) -> usize {
    let mut made = 0;
    let mut k = start;
    while made < AT_ONCE {
        match candidate(kernel, k) {
            Some(one) => made += usize::from(one.is_some()),
            None => break,
        }
        k += 1;
    }
    k - start
}

/// Differences of each; none where it does not compile.
fn test(kernels: &[Kernel], simd: u32, options: &str) -> Vec<Vec<String>> {
    let mut batch = Batch { options: options.into(), ..Batch::default() };
    for (i, kernel) in kernels.iter().enumerate() {
        let name = format!("c{i}");
        batch.kernels.push((kernel.source(&name), kernel.case(&name)));
    }
    let outcomes = batch.reference().and_then(|theirs| batch.compare(simd, &theirs));
    match outcomes {
        Ok(outcomes) => outcomes.into_iter().map(|outcome| outcome.found).collect(),
        Err(_) if kernels.len() == 1 => vec![Vec::new()],
        // One of them is to blame.
        Err(_) => {
            kernels.iter().flat_map(|kernel| test(std::slice::from_ref(kernel), simd, options)).collect()
        }
    }
}

/// The `k`-th way to make it smaller: none behind the last one; `Some(None)` where that changes nothing.
fn candidate(kernel: &Kernel, k: usize) -> Option<Option<Kernel>> {
    let statements = kernel.tree.count_statements();
    let mut smaller = kernel.clone();
    let changed = if k < statements {
        edit(&mut smaller.tree.body, &mut k.clone(), &mut |list, i| {
            list.remove(i);
            true
        })
    } else if k < 2 * statements {
        edit(&mut smaller.tree.body, &mut (k - statements), &mut hoist)
    } else {
        let k = k - 2 * statements;
        let parts = smaller.tree.variables.len() + smaller.tree.helpers.len() + smaller.tree.arrays.len();
        if k < parts {
            smaller.tree.drop_part(k)
        } else {
            let mut at = k - parts;
            let mut changed = false;
            let mut reached = false;
            smaller.tree.each_expr(&mut |expr| {
                // Two ways for each: a literal, and a part of the same type.
                if at < 2 && !reached {
                    reached = true;
                    changed = if at == 0 { to_literal(expr) } else { to_part(expr) };
                }
                at = at.saturating_sub(2);
            });
            if !reached {
                return None;
            }
            changed
        }
    };
    Some(changed.then_some(smaller))
}

/// Calls `change` with the list that holds statement `k` (in order, outer ones first) and its place.
fn edit(list: &mut Vec<Stmt>, k: &mut usize, change: &mut impl FnMut(&mut Vec<Stmt>, usize) -> bool) -> bool {
    let mut i = 0;
    while i < list.len() {
        if *k == 0 {
            return change(list, i);
        }
        *k -= 1;
        for b in 0..list[i].blocks.len() {
            let inside = list[i].blocks[b].body.iter().map(Stmt::count).sum::<usize>();
            if *k < inside {
                return edit(&mut list[i].blocks[b].body, k, change);
            }
            *k -= inside;
        }
        i += 1;
    }
    false
}

/// Puts what is inside in the place of an `if` or a loop, unless that needs what is outside.
fn hoist(list: &mut Vec<Stmt>, i: usize) -> bool {
    if list[i].blocks.is_empty() {
        return false;
    }
    let bodies: Vec<Stmt> = list[i].blocks.iter().flat_map(|block| block.body.clone()).collect();
    let is_if = list[i].head.starts_with("if");
    let mut text = String::new();
    super::ast::print_all(&bodies, 0, &mut text);
    let counter = list[i].head.split_whitespace().nth(2).unwrap_or("?").to_owned();
    if !is_if && (text.contains("break;") || text.contains("continue;") || text.contains(&counter)) {
        return false;
    }
    list.splice(i..=i, bodies);
    true
}

fn to_literal(expr: &mut Expr) -> bool {
    if expr.kids.is_empty() {
        return false;
    }
    let text = if expr.ty.s.is_float() { "1.5f" } else { "3" };
    *expr = Expr::new(expr.ty, format!("(({})({text}))", expr.ty), Vec::new());
    true
}

/// The largest part of the same type.
fn to_part(expr: &mut Expr) -> bool {
    fn find(expr: &Expr, ty: super::types::Ty) -> Option<Expr> {
        let mut kids: Vec<&Expr> = expr.kids.iter().collect();
        kids.sort_by_key(|kid| std::cmp::Reverse(kid.size()));
        kids.into_iter().find_map(|kid| if kid.ty == ty { Some(kid.clone()) } else { find(kid, ty) })
    }
    match find(expr, expr.ty) {
        Some(part) => {
            *expr = part;
            true
        }
        None => false,
    }
}

impl Stmt {
    fn count(&self) -> usize {
        1 + self.blocks.iter().flat_map(|block| &block.body).map(Self::count).sum::<usize>()
    }

    fn each_expr(&mut self, visit: &mut impl FnMut(&mut Expr)) {
        self.kids.iter_mut().for_each(|kid| kid.each(visit));
        for statement in self.blocks.iter_mut().flat_map(|block| &mut block.body) {
            statement.each_expr(visit);
        }
    }

    fn size(&self) -> usize {
        let inside = self.blocks.iter().flat_map(|block| &block.body).map(Self::size).sum::<usize>();
        5 + inside + self.kids.iter().map(Expr::size).sum::<usize>()
    }
}

impl Expr {
    fn each(&mut self, visit: &mut impl FnMut(&mut Self)) {
        visit(self);
        self.kids.iter_mut().for_each(|kid| kid.each(visit));
    }
}

impl Tree {
    fn count_statements(&self) -> usize {
        self.body.iter().map(Stmt::count).sum()
    }

    fn each_expr(&mut self, visit: &mut impl FnMut(&mut Expr)) {
        self.body.iter_mut().for_each(|statement| statement.each_expr(visit));
        self.variables.iter_mut().for_each(|variable| variable.init.each(visit));
        self.helpers.iter_mut().for_each(|helper| helper.result.each(visit));
    }

    /// Takes a declaration away if nothing uses it.
    fn drop_part(&mut self, k: usize) -> bool {
        let (helpers, arrays) = (self.helpers.len(), self.arrays.len());
        let mut text = self.print("k", 0);
        let mut used = |name: &str, times: usize| {
            text = text.replace('@', "");
            let word = |c: char| c.is_alphanumeric() || c == '_';
            text.match_indices(name)
                .filter(|(at, _)| {
                    let before = text[..*at].chars().next_back().is_some_and(word);
                    let after = text[at + name.len()..].chars().next().is_some_and(word);
                    !before && !after
                })
                .count()
                > times
        };
        if k < helpers {
            let gone = !used(&format!("k_f{k}"), 1) && k + 1 == helpers;
            if gone {
                self.helpers.pop();
            }
            return gone;
        }
        let k = k - helpers;
        if k < arrays {
            // `ty name[n];`, and for private ones the loop that fills it.
            let name = self.arrays[k]
                .split(['[', ' '])
                .find(|word| word.starts_with("pa") || word.starts_with("lb"));
            let Some(name) = name.map(str::to_owned) else { return false };
            let filled = self.arrays.get(k + 1).is_some_and(|line| line.starts_with("for"));
            let gone = !self.arrays[k].starts_with("for") && !used(&name, 1 + usize::from(filled));
            if gone {
                self.arrays.drain(k..=k + usize::from(filled));
            }
            return gone;
        }
        let k = k - arrays;
        let gone = self.variables.get(k).is_some_and(|variable| !used(&variable.name, 1));
        if gone {
            self.variables.remove(k);
        }
        gone
    }

    pub fn size(&self) -> usize {
        let variables = self.variables.iter().map(|v| 2 + v.init.size()).sum::<usize>();
        let helpers = self.helpers.iter().map(|h| 2 + h.result.size()).sum::<usize>();
        3 * self.arrays.len() + variables + helpers + self.body.iter().map(Stmt::size).sum::<usize>()
    }
}

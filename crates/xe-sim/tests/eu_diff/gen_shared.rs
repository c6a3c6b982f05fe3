//! Statements on memory that work-items share: atomics, and phases between barriers.

use super::ast::Stmt;
use super::gen_core::Gen;
use super::prelude::{MOST_LOCAL, REGION, REGIONS};
use super::types::Scalar::{U32, U64};
use super::types::Ty;

impl Gen {
    /// Words that are written by all and read by none: only operations that commute meet in a region.
    pub fn atomic(&mut self) -> Stmt {
        let long = self.one_in(4);
        let (ty, buffer) = if long { (U64, "at64") } else { (U32, "at") };
        let index = self.expr(Ty::scalar(U32), 2);
        let region = self.below(REGIONS);
        let value = self.expr(Ty::scalar(ty), 2);
        let at = format!("{buffer} + {} + (($0) & {}u)", region * REGION, REGION - 1);
        let prefix = if long { "atom" } else { "atomic" };
        let text = match region {
            1 => format!("{prefix}_min({at}, $1);"),
            2 => format!("{prefix}_max({at}, $1);"),
            3 => format!("{prefix}_and({at}, $1);"),
            4 => format!("{prefix}_or({at}, $1);"),
            5 => format!("{prefix}_xor({at}, $1);"),
            6 if !long => format!("atomic_min((global int *)({at}), as_int($1));"),
            7 if !long => format!("atomic_max((global int *)({at}), as_int($1));"),
            6 => format!("atom_min((global long *)({at}), as_long($1));"),
            7 => format!("atom_max((global long *)({at}), as_long($1));"),
            _ => match self.below(6) {
                0 => format!("{prefix}_inc({at});"),
                1 => format!("{prefix}_dec({at});"),
                2 => format!("{prefix}_sub({at}, $1);"),
                3 => {
                    let (p, old, new) = (self.name("p"), self.name("a"), self.name("b"));
                    let t = ty.name();
                    format!(
                        "{{ volatile global {t} *{p} = {at}; {t} {old}, {new} = $1; \
                         do {{ {old} = *{p}; }} while ({prefix}_cmpxchg({p}, {old}, {old} + {new}) != {old}); }}"
                    )
                }
                4 if !long => {
                    format!(
                        "atomic_fetch_add_explicit((volatile global atomic_uint *)({at}), $1, memory_order_relaxed, memory_scope_device);"
                    )
                }
                _ => format!("{prefix}_add({at}, $1);"),
            },
        };
        Stmt::plain(text, vec![index, value])
    }

    /// A word of its own, so that what the operation returns is defined.
    pub fn own_atomic(&mut self) -> Stmt {
        let long = self.one_in(4);
        let (s, buffer) = if long { (U64, "at64") } else { (U32, "at") };
        let same: Vec<usize> =
            (0..self.variables.len()).filter(|i| self.variables[*i] == Ty::scalar(s)).collect();
        let to = if same.is_empty() { String::new() } else { format!("v{} = ", self.pick(&same)) };
        let value = self.expr(Ty::scalar(s), 2);
        let other = self.expr(Ty::scalar(s), 1);
        let prefix = if long { "atom" } else { "atomic" };
        let at = format!("{buffer} + {} + gid", REGIONS * REGION);
        let op =
            self.pick(&["add", "sub", "xchg", "min", "max", "and", "or", "xor", "inc", "dec", "cmpxchg"]);
        let args = match op {
            "inc" | "dec" => "",
            "cmpxchg" => ", $1, $0",
            _ => ", $0",
        };
        Stmt::plain(format!("{to}{prefix}_{op}({at}{args});"), vec![value, other])
    }

    /// Work-items of a group exchange values between barriers; all take part.
    pub fn phase(&mut self) -> Stmt {
        let i = self.below(self.variables.len());
        let ty = self.variables[i];
        let fence = self.pick(&["CLK_LOCAL_MEM_FENCE", "CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE"]);
        let barrier = format!("barrier({fence});");
        let from = self.expr(Ty::scalar(U32), 2);
        let statement = match self.below(3) {
            0 => {
                let words: Vec<usize> =
                    (0..self.variables.len()).filter(|i| self.variables[*i] == Ty::scalar(U32)).collect();
                let to = if words.is_empty() { String::new() } else { format!("v{} = ", self.pick(&words)) };
                let value = self.expr(Ty::scalar(U32), 2);
                let index = self.expr(Ty::scalar(U32), 2);
                let condition = self.condition(2);
                let op = self.pick(&["add", "sub", "min", "max", "and", "or", "xor"]);
                Stmt::plain(
                    format!(
                        "{barrier} la[lid] = $0; {barrier} if ($3) atomic_{op}(la + ($1) % LSZ, $0); {barrier} \
                         {to}la[($2) % LSZ];"
                    ),
                    vec![value, index, from, condition],
                )
            }
            1 if ty == Ty::scalar(U32) => {
                let value = self.expr(ty, 2);
                Stmt::plain(
                    format!("{barrier} la[lid + LSZ] = $0; {barrier} v{i} = la[($1) % LSZ + LSZ];"),
                    vec![value, from],
                )
            }
            _ => {
                let name = self.name("lb");
                let elements = if ty.bytes() * MOST_LOCAL > 8192 { return self.assign() } else { MOST_LOCAL };
                self.tree.arrays.push(format!("local {ty} {name}[{elements}];"));
                let value = self.expr(ty, 2);
                Stmt::plain(
                    format!("{barrier} {name}[lid] = $0; {barrier} v{i} = {name}[($1) % LSZ];"),
                    vec![value, from],
                )
            }
        };
        match self.below(4) {
            // Under conditions and in loops that are the same for the whole group.
            0 => {
                let i = self.name("r");
                Stmt::plain(format!("for (uint {i} = 0; {i} < 2u + (su & 1u); {i}++)"), Vec::new()).block(
                    "{",
                    vec![statement, self.assign()],
                    "}",
                )
            }
            1 => Stmt::plain(format!("if (cin[{}] & 3u)", self.below(60)), Vec::new()).block(
                "{",
                vec![self.assign(), statement],
                "}",
            ),
            _ => statement,
        }
    }
}

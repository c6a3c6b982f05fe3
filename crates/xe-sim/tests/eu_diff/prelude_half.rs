//! Half precision for both compilers. PoCL has no `half` arithmetic: there it is made in single precision and rounded,
//! which is the same for sums and products (24 digits are more than twice 11), or in double precision for `fma`.
//! Values are kept as bits, NaNs as the one NaN 0x7e00.

use std::fmt::Write as _;

/// Of one or two operands, with `$a` and `$b` for them; the same text for half and single precision.
const SAME: [(&str, usize, &str); 10] = [
    ("HADD", 2, "$a + $b"),
    ("HSUB", 2, "$a - $b"),
    ("HMUL", 2, "$a * $b"),
    // Of zeros either may be returned: the sum makes both positive.
    ("HMIN", 2, "fmin($a, $b) + ($t)(0)"),
    ("HMAX", 2, "fmax($a, $b) + ($t)(0)"),
    ("HFLOOR", 1, "floor($a)"),
    ("HCEIL", 1, "ceil($a)"),
    ("HTRUNC", 1, "trunc($a)"),
    ("HRINT", 1, "rint($a)"),
    ("HNEG", 1, "-$a"),
];
/// Comparisons.
pub const COMPARISONS: [(&str, &str); 6] =
    [("HLT", "<"), ("HLE", "<="), ("HGT", ">"), ("HGE", ">="), ("HEQ", "=="), ("HNE", "!=")];
/// Names of the functions of bits that give bits, and the number of operands.
pub fn operations() -> impl Iterator<Item = (&'static str, usize)> {
    SAME.iter().map(|(name, operands, _)| (*name, *operands)).chain(std::iter::once(("HFMA", 3)))
}
pub const ROUNDINGS: [&str; 4] = ["rte", "rtz", "rtp", "rtn"];

pub fn prelude() -> String {
    let mut out = String::from("#ifndef REFERENCE\n#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n#endif\n");
    for n in ["", "2", "3", "4", "8", "16"] {
        let (us, test) = (format!("ushort{n}"), "(u & MASK) > NAN_");
        let test =
            test.replace("MASK", &format!("({us})(0x7fff)")).replace("NAN_", &format!("({us})(0x7c00)"));
        let pick = |wrong: &str| {
            if n.is_empty() {
                format!("{test} ? (ushort){wrong} : u")
            } else {
                format!("select(u, ({us})({wrong}), {test})")
            }
        };
        // HQ: no signalling NaN; HN: no NaN.
        let _ = writeln!(out, "OV {us} HQ({us} u) {{ return {}; }}", pick("0x7e00"));
        let _ = writeln!(out, "OV {us} HN({us} u) {{ return {}; }}", pick("0x3e00"));
        let _ = writeln!(out, "#ifdef REFERENCE");
        let _ = writeln!(out, "OV float{n} H2F({us} u) {{ return vload_half{n}(0, (private half *)&u); }}");
        for r in ROUNDINGS {
            let _ = writeln!(
                out,
                "OV {us} F2H_{r}(float{n} f) {{ {us} u = ({us})(0); vstore_half{n}_{r}(f, 0, (private half *)&u); return HQ(u); }}\n\
                 OV {us} D2H_{r}(double{n} f) {{ {us} u = ({us})(0); vstore_half{n}_{r}(f, 0, (private half *)&u); return HQ(u); }}"
            );
        }
        both(&mut out, n, &format!("float{n}"), "H2F", "F2H_rte");
        let wide = |name: &str| format!("convert_double{n}(H2F(HQ({name})))");
        let _ = writeln!(
            out,
            "OV {us} HFMA({us} a, {us} b, {us} c) {{ return D2H_rte({} * {} + {}); }}\n\
             OV float{n} HF({us} a) {{ return H2F(HQ(a)); }}",
            wide("a"),
            wide("b"),
            wide("c")
        );
        for r in ROUNDINGS {
            let _ = writeln!(out, "OV {us} FH_{r}(float{n} f) {{ return F2H_{r}(f); }}");
            for s in ["char", "uchar", "short", "ushort"] {
                let _ = writeln!(
                    out,
                    "OV {us} IH_{r}({s}{n} i) {{ return F2H_{r}(convert_float{n}(i)); }}\n\
                     OV {s}{n} HI_{s}_{r}({us} a) {{ return convert_{s}{n}_sat_{r}(H2F(HN(a))); }}"
                );
            }
        }
        let _ = writeln!(out, "#else");
        let half = format!("half{n}");
        both(&mut out, n, &half, &format!("as_{half}"), "H2B");
        let _ = writeln!(
            out,
            "OV {us} HFMA({us} a, {us} b, {us} c) {{ return H2B(fma(as_{half}(HQ(a)), as_{half}(HQ(b)), as_{half}(HQ(c)))); }}\n\
             OV float{n} HF({us} a) {{ return convert_float{n}(as_{half}(HQ(a))); }}"
        );
        for r in ROUNDINGS {
            let _ = writeln!(out, "OV {us} FH_{r}(float{n} f) {{ return H2B(convert_{half}_{r}(f)); }}");
            for s in ["char", "uchar", "short", "ushort"] {
                let _ = writeln!(
                    out,
                    "OV {us} IH_{r}({s}{n} i) {{ return H2B(convert_{half}_{r}(i)); }}\n\
                     OV {s}{n} HI_{s}_{r}({us} a) {{ return convert_{s}{n}_sat_{r}(as_{half}(HN(a))); }}"
                );
            }
        }
        let _ = writeln!(out, "#endif");
    }
    out
}

/// Functions whose text is the same: `t` the type computed in, `from` and `to` its conversions from and to bits.
fn both(out: &mut String, n: &str, t: &str, from: &str, to: &str) {
    let us = format!("ushort{n}");
    if to == "H2B" {
        let _ = writeln!(out, "OV {us} H2B({t} h) {{ return HQ(as_{us}(h)); }}");
    }
    for (name, operands, text) in SAME {
        let list = if operands == 1 { format!("{us} a") } else { format!("{us} a, {us} b") };
        let text = text
            .replace("$a", &format!("{from}(HQ(a))"))
            .replace("$b", &format!("{from}(HQ(b))"))
            .replace("$t", t);
        let _ = writeln!(out, "OV {us} {name}({list}) {{ return {to}({text}); }}");
    }
    for (name, op) in COMPARISONS {
        let text = format!("{from}(a) {op} {from}(b)");
        // A mask as wide as the operands, or one.
        let cast = if n.is_empty() { "(ushort)".to_owned() } else { format!("convert_{us}") };
        let _ = writeln!(out, "OV {us} {name}({us} a, {us} b) {{ return {cast}({text}); }}");
    }
}

//! What stands before the kernels: the same text for both compilers, but for what a macro chooses.

use std::fmt::Write as _;

/// Words of the input and of the constant buffer.
pub const INPUT_WORDS: usize = 256;
pub const CONSTANT_WORDS: usize = 64;
const _: () = assert!(CONSTANT_WORDS == 64, "PLACE takes the zero from behind them");
/// Words a region of the atomic buffers; there is one for each operation, then one word a work-item.
pub const REGION: usize = 16;
pub const REGIONS: usize = 8;
/// Most work-items of a group.
pub const MOST_LOCAL: usize = 128;

const HEAD: &str = "\
#pragma OPENCL FP_CONTRACT OFF
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable
#ifdef SG
#define KERNEL __attribute__((intel_reqd_sub_group_size(SG))) kernel
#else
#define KERNEL kernel
#endif
#define OV static __attribute__((overloadable))
#define NOINLINE static __attribute__((noinline))
#define PARAMETERS global uchar *out, global const uint *in, constant uint *cin, global uint *at, \\
    global ulong *at64, local uint *la, uint su, int4 sv, float sf, short sh
#define LSZ ((uint)(get_local_size(0) * get_local_size(1) * get_local_size(2)))
#define PLACE(stride) \\
  const uint lid = (uint)((get_local_id(2) * get_local_size(1) + get_local_id(1)) * get_local_size(0) + get_local_id(0)); \\
  const uint gid = (uint)((get_global_id(2) * get_global_size(1) + get_global_id(1)) * get_global_size(0) + get_global_id(0)); \\
  const uint zero = cin[64]; \\
  global uchar *o = out + gid * (uint)(stride)
// Operations that need not be exact: single precision here, double precision as the reference. Pointers to either
// of two memories: PoCL has no generic address space.
#ifdef REFERENCE
#define ULP1(at, f, x) *(global double *)(o + at) = f((double)(x))
#define ULP2(at, f, x, y) *(global double *)(o + at) = f((double)(x), (double)(y))
#define EITHER(c, p, q) ((c) ? *(p) : *(q))
#define STORE_EITHER(c, p, q, v) { if (c) *(p) = (v); else *(q) = (v); }
#else
#define ULP1(at, f, x) *(global float *)(o + at) = f(x)
#define ULP2(at, f, x, y) *(global float *)(o + at) = f(x, y)
#define EITHER(c, p, q) (*((c) ? (const uint *)(p) : (const uint *)(q)))
#define STORE_EITHER(c, p, q, v) *((c) ? (uint *)(p) : (uint *)(q)) = (v);
#endif
constant uint ctab[16] = {
  0x00000000u, 0xffffffffu, 0x80000000u, 0x7fffffffu, 0x00000001u, 0x12345678u, 0xdeadbeefu, 0x0000ffffu,
  0x00ff00ffu, 0x55555555u, 0x3f800000u, 0xbf000000u, 0x00008000u, 0x00000080u, 0x40490fdbu, 0x0badcafeu };
";

/// The same for double precision, with a D where arguments do not tell the types apart.
pub fn doubles() -> String {
    let mut out = String::new();
    for n in ["", "2", "3", "4", "8", "16"] {
        let pick = |wrong: &str| {
            let test = "(u & 0x7fffffffffffffffUL) > 0x7ff0000000000000UL";
            if n.is_empty() {
                format!("{test} ? {wrong} : u")
            } else {
                format!("select(u, (ulong{n})({wrong}), {test})")
            }
        };
        let (clean, number) = (pick("0x7ff8000000000000UL"), pick("0x3ff8000000000000UL"));
        let _ = write!(
            out,
            "OV double{n} FBD(ulong{n} u) {{ return as_double{n}({clean}); }}\n\
             OV double{n} FMD(ulong{n} u) {{ return as_double{n}((u & 0x807fffffffffffffUL) + 0x3fa0000000000000UL); }}\n\
             OV double{n} NN(double{n} f) {{ ulong{n} u = as_ulong{n}(f); return as_double{n}({number}); }}\n\
             OV double{n} NZ(double{n} f, uint zero) {{ return NN(as_double{n}(as_ulong{n}(f) ^ zero)); }}\n\
             OV double{n} FX(double{n} f, uint zero) {{ return as_double{n}(as_ulong{n}(f) ^ zero); }}\n\
             OV ulong{n} CB(double{n} f) {{ ulong{n} u = as_ulong{n}(f); return {clean}; }}\n"
        );
    }
    out
}

/// The whole prelude. NaNs never get to where their payload or sign could be seen: `FB` makes floats of any bits,
/// `FM` floats near one, `NN` replaces NaNs, `FIN` infinities too, `CB` gives the bits to be compared.
pub fn prelude() -> String {
    let mut out = String::from(HEAD);
    for n in ["", "2", "3", "4", "8", "16"] {
        let pick = |wrong: &str, right: &str, test: &str| {
            if n.is_empty() {
                format!("{test} ? {wrong} : {right}")
            } else {
                format!("select({right}, (uint{n})({wrong}), {test})")
            }
        };
        let nan = "(u & 0x7fffffffu) > 0x7f800000u";
        let infinite = "(u & 0x7fffffffu) >= 0x7f800000u";
        let (clean, number, finite) = (
            pick("0x7fc00000u", "u", nan),
            pick("0x3fc00000u", "u", nan),
            pick("0x3fc00000u", "u", infinite),
        );
        let _ = write!(
            out,
            "OV float{n} FB(uint{n} u) {{ return as_float{n}({clean}); }}\n\
             OV float{n} FM(uint{n} u) {{ return as_float{n}((u & 0x83ffffffu) + 0x3d000000u); }}\n\
             OV float{n} NN(float{n} f) {{ uint{n} u = as_uint{n}(f); return as_float{n}({number}); }}\n\
             OV float{n} NZ(float{n} f, uint zero) {{ return NN(as_float{n}(as_uint{n}(f) ^ zero)); }}\n\
             OV float{n} FX(float{n} f, uint zero) {{ return as_float{n}(as_uint{n}(f) ^ zero); }}\n\
             OV float{n} FIN(float{n} f) {{ uint{n} u = as_uint{n}(f); return as_float{n}({finite}); }}\n\
             OV uint{n} CB(float{n} f) {{ uint{n} u = as_uint{n}(f); return {clean}; }}\n"
        );
    }
    out
}

//! OpenCL C's scalar and vector types.

use std::fmt;

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scalar {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
}

use Scalar::{F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};

pub const INTEGERS: [Scalar; 8] = [I8, U8, I16, U16, I32, U32, I64, U64];

impl Scalar {
    pub fn name(self) -> &'static str {
        match self {
            I8 => "char",
            U8 => "uchar",
            I16 => "short",
            U16 => "ushort",
            I32 => "int",
            U32 => "uint",
            I64 => "long",
            U64 => "ulong",
            F32 => "float",
            F64 => "double",
        }
    }

    pub fn bytes(self) -> usize {
        match self {
            I8 | U8 => 1,
            I16 | U16 => 2,
            I32 | U32 | F32 => 4,
            I64 | U64 | F64 => 8,
        }
    }

    pub fn is_float(self) -> bool {
        matches!(self, F32 | F64)
    }

    pub fn is_signed(self) -> bool {
        matches!(self, I8 | I16 | I32 | I64)
    }

    pub fn unsigned(self) -> Self {
        match self.bytes() {
            1 => U8,
            2 => U16,
            4 => U32,
            _ => U64,
        }
    }

    pub fn signed(self) -> Self {
        match self.bytes() {
            1 => I8,
            2 => I16,
            4 => I32,
            _ => I64,
        }
    }
}

/// A vector of 2, 3, 4, 8 or 16 elements, or a scalar (1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ty {
    pub s: Scalar,
    pub n: usize,
}

impl Ty {
    pub const fn new(s: Scalar, n: usize) -> Self {
        Self { s, n }
    }

    pub const fn scalar(s: Scalar) -> Self {
        Self { s, n: 1 }
    }

    pub fn with(self, s: Scalar) -> Self {
        Self { s, ..self }
    }

    pub fn of(self, n: usize) -> Self {
        Self { n, ..self }
    }

    pub fn is_scalar(self) -> bool {
        self.n == 1
    }

    /// Bytes that `vstore` writes.
    pub fn bytes(self) -> usize {
        self.s.bytes() * self.n
    }
}

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.s.name())?;
        if self.n > 1 { write!(f, "{}", self.n) } else { Ok(()) }
    }
}

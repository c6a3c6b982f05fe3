//! Software scoreboard field.
//!
//! The compiler tells the hardware what an instruction must wait for. A model that executes in order may ignore it;
//! it is kept for the printer and for checks.

/// In-order pipe that a distance counts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pipe {
    /// The pipe that the instruction itself goes to.
    Own,
    All,
    Float,
    Int,
    Long,
    Math,
}

/// What an instruction does with a scoreboard token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokenUse {
    /// Waits until the token's destination is written.
    Dst,
    /// Waits until the token's sources are read.
    Src,
    /// Takes the token.
    Set,
}

/// Decoded scoreboard field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Swsb {
    /// The field as encoded.
    pub raw: u16,
    /// Waits for the instruction this many back (1 to 7; 0, beside a token only: none) on that pipe.
    pub dist: Option<(Pipe, u8)>,
    pub token: Option<(TokenUse, u8)>,
}

/// How a platform encodes the field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SwsbEncoding {
    /// Gfx12.5: float, int and long pipes; 16 tokens; 8 bits.
    ThreePipes,
}

impl SwsbEncoding {
    /// `None`: reserved.
    pub(super) fn decode(self, raw: u64, latency: Latency) -> Option<Swsb> {
        match self {
            Self::ThreePipes => decode_three_pipes(u8::try_from(raw).ok()?, latency),
        }
    }
}

/// Kind of instruction, for the one encoding that depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Latency {
    Fixed,
    /// `math` and `dpas`.
    Variable,
    Send,
}

fn decode_three_pipes(raw: u8, latency: Latency) -> Option<Swsb> {
    let low3 = raw & 7;
    let token = raw & 15;
    let dist = |pipe| if low3 == 0 { None } else { Some((pipe, low3)) };
    let mut swsb = Swsb { raw: u16::from(raw), dist: None, token: None };
    match raw >> 3 {
        0 => swsb.dist = dist(Pipe::Own),
        1 => swsb.dist = dist(Pipe::All),
        2 => swsb.dist = dist(Pipe::Float),
        3 => swsb.dist = dist(Pipe::Int),
        10 => swsb.dist = dist(Pipe::Long),
        4 | 5 => swsb.token = Some((TokenUse::Dst, token)),
        6 | 7 => swsb.token = Some((TokenUse::Src, token)),
        8 | 9 => swsb.token = Some((TokenUse::Set, token)),
        16.. => {
            let (pipe, on) = match latency {
                Latency::Fixed => (Pipe::Own, TokenUse::Dst),
                Latency::Variable => (Pipe::Own, TokenUse::Set),
                Latency::Send => (Pipe::All, TokenUse::Set),
            };
            // A distance of 0 beside a token is encodable (and disassembled): it waits for nothing.
            swsb.dist = Some((pipe, (raw >> 4) & 7));
            swsb.token = Some((on, token));
        }
        _ => return None,
    }
    Some(swsb)
}

//! The one sparse memory behind all buffer objects.
use std::marker::PhantomData;

/// A stretch of arena memory, shared with running clients (its bytes may change under the reader).
pub struct Span<'a> {
    _arena: PhantomData<&'a ()>,
}

//! TODO

use crate::lua::methods::Method;

/// The methods of this file.
pub const METHODS: &[Method] = &[];

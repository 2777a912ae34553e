//! The counterpart of `pages.rs` for systems that cannot remap pages. There, all heap memory comes from the allocator.

pub const HUGE: usize = crate::system::HUGE_PAGE;
/// No block has as many bytes.
pub const LARGE: usize = isize::MAX.cast_unsigned() + 1;
pub const GRANULE: usize = 64 << 10;

/// A type without values, because there are no blocks of pages.
#[derive(Debug)]
pub enum Pages {}

impl Pages {
    pub fn zeroed(_: usize) -> Option<Self> {
        None
    }

    pub fn start(&self) -> *mut u8 {
        match *self {}
    }

    pub fn length(&self) -> usize {
        match *self {}
    }

    pub fn resize(&mut self, _: usize) -> bool {
        match *self {}
    }

    pub fn is_present(&self, _: usize) -> bool {
        match *self {}
    }

    pub fn clear(&mut self) -> bool {
        match *self {}
    }
}

//! The element types of storages: one row each, in one list.

use half::f16;

mod sealed {
    /// Keeps [`Element`](super::Element) to the types of the list below.
    pub trait Sealed {}
}

/// `for_each_element! { [callback] { arguments } }` calls `callback! { arguments ; rows }` with the one list of element types.
///
/// A row is `(class, Rust type, C type)`; its place is the number of its [`DType`]. Adding an element type is adding a row (and
/// its conversions, in `convert.rs`).
macro_rules! for_each_element {
    ([$($callback:tt)+] { $($arguments:tt)* }) => {
        $($callback)+! { $($arguments)* ;
            (Byte, u8, "unsigned char"),
            (Char, i8, "signed char"),
            (Short, i16, "int16_t"),
            (Int, i32, "int32_t"),
            (Long, i64, "int64_t"),
            (Half, half::f16, "THHalf"),
            (Float, f32, "float"),
            (Double, f64, "double"),
            (BFloat16, half::bf16, "THBFloat16"),
            (Bool, $crate::convert::Bool, "unsigned char"),
            (Float8_e4m3fn, $crate::convert::Float8E4m3fn, "THFloat8_e4m3fn"),
            (Float8_e5m2, $crate::convert::Float8E5m2, "THFloat8_e5m2"),
            (Float8_e4m3fnuz, $crate::convert::Float8E4m3fnuz, "THFloat8_e4m3fnuz"),
            (Float8_e5m2fnuz, $crate::convert::Float8E5m2fnuz, "THFloat8_e5m2fnuz"),
            (ComplexFloat, $crate::convert::Complex<f32>, "complex float"),
            (ComplexDouble, $crate::convert::Complex<f64>, "complex double"),
            (Untyped, $crate::element::RawByte, "unsigned char")
        }
    };
}

/// Runs `$body` with `$T` standing for the Rust type of the elements of `$dtype`.
macro_rules! with_element {
    ($dtype:expr, $T:ident => $body:expr) => {
        $crate::element::for_each_element! { [$crate::element::dispatch_element] { ($dtype) ($T) ($body) } }
    };
}

macro_rules! dispatch_element {
    (($dtype:expr) ($T:ident) ($body:expr) ; $(($class:ident, $type:ty, $c:literal)),*) => {
        match $dtype {
            $($crate::element::DType::$class => {
                type $T = $type;
                $body
            })*
        }
    };
}

pub(crate) use {dispatch_element, for_each_element, with_element};

macro_rules! define_dtype {
    (; $(($class:ident, $type:ty, $c:literal)),*) => {
        /// What the elements of a storage are. The number of a dtype is its place in [`DType::ALL`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(non_camel_case_types, reason = "the names are those of the classes, which are PyTorch's")]
        #[repr(u8)]
        pub enum DType {
            $(#[doc = concat!("`torch.", stringify!($class), "Storage`: elements are `", stringify!($type), "`.")] $class,)*
        }

        impl DType {
            /// Every dtype, in the order of their numbers.
            pub const ALL: &[Self] = &[$(Self::$class),*];

            /// The Lua class: `"torch.ByteStorage"` and so on. Torch7's names.
            #[must_use]
            pub const fn class_name(self) -> &'static str {
                match self {
                    $(Self::$class => concat!("torch.", stringify!($class), "Storage"),)*
                }
            }

            /// The C type of an element, as in the FFI declaration of `TH<TYPE>Storage`.
            #[must_use]
            pub const fn c_type(self) -> &'static str {
                match self {
                    $(Self::$class => $c,)*
                }
            }

            /// Whether the elements are integers.
            #[must_use]
            pub const fn is_integer(self) -> bool {
                match self {
                    $(Self::$class => <$type as $crate::convert::Number>::INTEGER,)*
                }
            }

            /// Bytes of one element.
            #[must_use]
            pub const fn width(self) -> usize {
                match self {
                    $(Self::$class => size_of::<$type>(),)*
                }
            }
        }

        $(
            impl sealed::Sealed for $type {}

            impl Element for $type {
                const DTYPE: DType = DType::$class;
            }
        )*
    };
}

/// A Rust type that can be the element of a storage. Every bit pattern of it is a value, so any memory of the right length holds
/// valid elements. Sealed: the list is closed.
pub trait Element: sealed::Sealed + crate::convert::Number + PartialEq + Send + Sync {
    /// The dtype whose elements have this type.
    const DTYPE: DType;
}

for_each_element! { [define_dtype] {} }

/// A byte of memory without a type: a number from 0 to 255, converted as a `u8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct RawByte(pub u8);

impl From<RawByte> for i64 {
    fn from(byte: RawByte) -> Self {
        Self::from(byte.0)
    }
}

/// PyTorch's names of dtypes that are not those of our elements in small letters, and those elements.
const DTYPE_NAMES: [(&str, &str); 12] = [
    ("uint8", "Byte"),
    ("int8", "Char"),
    ("int16", "Short"),
    ("int32", "Int"),
    ("int64", "Long"),
    ("float16", "Half"),
    ("float32", "Float"),
    ("float64", "Double"),
    ("complex64", "ComplexFloat"),
    ("cfloat", "ComplexFloat"),
    ("complex128", "ComplexDouble"),
    ("cdouble", "ComplexDouble"),
];

impl DType {
    /// The class name without the module: `"ByteStorage"`.
    #[must_use]
    pub fn short_name(self) -> &'static str {
        let name = self.class_name();
        name.strip_prefix("torch.").unwrap_or(name)
    }

    /// The name of the element: `"Byte"`.
    #[must_use]
    pub fn element_name(self) -> &'static str {
        let name = self.short_name();
        name.strip_suffix("Storage").unwrap_or(name)
    }

    /// The dtype of a class name, with the module (`"torch.ByteStorage"`) or without (`"ByteStorage"`).
    #[must_use]
    pub fn from_class_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|dtype| name == dtype.class_name() || name == dtype.short_name())
    }

    /// The dtype of a name: that of a class, or PyTorch's of a dtype, `"float32"`, `"half"`, with `"torch."` before it or without.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let bare = name.strip_prefix("torch.").unwrap_or(name);
        let element = DTYPE_NAMES.iter().find(|(other, _)| *other == bare).map(|&(_, element)| element);
        let is_meant = |dtype: &Self| match element {
            Some(element) => dtype.element_name() == element,
            None => is_in_small_letters(bare, dtype.element_name()),
        };
        Self::from_class_name(name).or_else(|| Self::ALL.iter().copied().find(is_meant))
    }

    /// Whether the elements are bytes without a type. The engine takes them for numbers; in Lua, copies between such a storage and
    /// one of another class are of bytes.
    #[must_use]
    pub const fn is_untyped(self) -> bool {
        matches!(self, Self::Untyped)
    }

    /// Whether the elements are complex numbers.
    #[must_use]
    pub const fn is_complex(self) -> bool {
        matches!(self, Self::ComplexFloat | Self::ComplexDouble)
    }

    /// What an element is made of: the parts of a complex number, and anything else of itself.
    #[must_use]
    pub const fn part(self) -> Self {
        match self {
            Self::ComplexFloat => Self::Float,
            Self::ComplexDouble => Self::Double,
            other => other,
        }
    }

    /// Whether Torch7 has this class, so that there is a way to write it in a `.t7` file. Its classes are the first of the list.
    #[must_use]
    pub const fn is_in_torch7(self) -> bool {
        self.number() <= Self::Double.number()
    }

    /// This dtype's place in [`DType::ALL`].
    #[must_use]
    pub const fn number(self) -> usize {
        // A fieldless repr(u8) enum: the discriminant is the place.
        self as usize
    }
}

fn is_in_small_letters(small: &str, name: &str) -> bool {
    small.len() == name.len() && small.bytes().zip(name.bytes()).all(|(small, letter)| small == letter.to_ascii_lowercase())
}

const _: () = assert!(size_of::<f16>() == 2 && size_of::<DType>() == 1);

#[cfg(test)]
mod tests {
    use super::DType;

    #[test]
    fn a_dtype_is_found_by_both_of_its_names() {
        for (place, &dtype) in DType::ALL.iter().enumerate() {
            assert_eq!(dtype.number(), place);
            assert_eq!(DType::from_class_name(dtype.class_name()), Some(dtype));
            assert_eq!(DType::from_class_name(dtype.short_name()), Some(dtype));
        }
        assert_eq!(DType::from_class_name("torch.NoSuchStorage"), None);
        assert_eq!(DType::from_class_name("Byte"), None);
    }

    #[test]
    fn a_dtype_is_found_by_the_names_of_pytorch() {
        for (name, dtype) in [
            ("uint8", DType::Byte),
            ("torch.uint8", DType::Byte),
            ("int8", DType::Char),
            ("short", DType::Short),
            ("int32", DType::Int),
            ("long", DType::Long),
            ("half", DType::Half),
            ("float16", DType::Half),
            ("torch.float", DType::Float),
            ("float64", DType::Double),
            ("complex64", DType::ComplexFloat),
            ("torch.cdouble", DType::ComplexDouble),
            ("untyped", DType::Untyped),
            ("FloatStorage", DType::Float),
            ("torch.UntypedStorage", DType::Untyped),
        ] {
            assert_eq!(DType::from_name(name), Some(dtype), "{name}");
        }
        for name in ["Byte", "Float32", "", "torch.", "torch.torch.int", "float9", "int "] {
            assert_eq!(DType::from_name(name), None, "{name}");
        }
    }

    #[test]
    fn widths_are_those_of_torch7_on_every_platform() {
        let widths: Vec<usize> = DType::ALL.iter().map(|dtype| dtype.width()).collect();
        assert_eq!(widths, [1, 1, 2, 4, 8, 2, 4, 8, 2, 1, 1, 1, 1, 1, 8, 16, 1]);
    }
}

//! The one list of dtypes, the types that the elements of a storage can have. Each dtype is one row.

use std::ffi::CStr;

use half::f16;

use crate::convert::SmallFloat;

mod decimal;
#[cfg(test)]
mod tests;

mod sealed {
    /// Only the types in the list below have this trait, so only they can be an [`Element`](super::Element).
    pub trait Sealed {}
}

/// `for_each_element! { [callback] { arguments } }` calls `callback! { arguments ; rows }` with the rows of all dtypes.
///
/// A row has the form `Class: RustType = { fields }`. Its documentation and its fields ([`Row`]) hold everything that the rest of
/// the library has to know about the dtype. The Lua side, the `.t7` text, the tables in the documentation, the benchmarks and the
/// tests read them. The position of a row is the number of its [`DType`]. CONTRIBUTING.md says what else a new dtype needs.
macro_rules! for_each_element {
    ([$($callback:tt)+] { $($arguments:tt)* }) => {
        $($callback)+! { $($arguments)* ;
            /// Unsigned integers of 8 bits, 0 to 255.
            Byte: u8 = {
                c_type: "unsigned char", kind: Kind::Unsigned, cast: c"byte", other_names: "uint8", in_torch7: true
            },
            /// Signed integers of 8 bits, -128 to 127.
            Char: i8 = { c_type: "signed char", kind: Kind::Signed, cast: c"char", other_names: "int8", in_torch7: true },
            /// Signed integers of 16 bits.
            Short: i16 = { c_type: "int16_t", kind: Kind::Signed, cast: c"short", other_names: "int16", in_torch7: true },
            /// Signed integers of 32 bits.
            Int: i32 = { c_type: "int32_t", kind: Kind::Signed, cast: c"int", other_names: "int32", in_torch7: true },
            /// Signed integers of 64 bits on every platform.
            ///
            /// Copies, fills and cdata keep all 64 bits. An element that is read as a Lua number is rounded beyond 2^53.
            Long: i64 = { c_type: "int64_t", kind: Kind::Signed, cast: c"long", other_names: "int64", in_torch7: true },
            /// IEEE 754 half precision (binary16).
            ///
            /// Converted through single precision, as in Torch7.
            Half: half::f16 = {
                c_type: "THHalf", kind: Kind::SmallFloat, cast: c"half", other_names: "float16", in_torch7: true
            },
            /// IEEE 754 single precision (binary32).
            Float: f32 = { c_type: "float", kind: Kind::Float, cast: c"float", other_names: "float32", in_torch7: true },
            /// IEEE 754 double precision (binary64), which is Lua's own number.
            Double: f64 = { c_type: "double", kind: Kind::Float, cast: c"double", other_names: "float64", in_torch7: true },
            /// Unsigned integers of 16 bits, 0 to 65535.
            UInt16: u16 = { c_type: "uint16_t", kind: Kind::Unsigned, cast: c"uint16", other_names: "", in_torch7: false },
            /// Unsigned integers of 32 bits, 0 to 2^32 - 1.
            UInt32: u32 = { c_type: "uint32_t", kind: Kind::Unsigned, cast: c"uint32", other_names: "", in_torch7: false },
            /// Unsigned integers of 64 bits, 0 to 2^64 - 1.
            ///
            /// Copies, fills and cdata keep all 64 bits. An element that is read as a Lua number is rounded beyond 2^53.
            UInt64: u64 = { c_type: "uint64_t", kind: Kind::Unsigned, cast: c"uint64", other_names: "", in_torch7: false },
            /// bfloat16: the upper 16 bits of a single-precision float.
            ///
            /// Rounded once from numbers and integers.
            BFloat16: half::bf16 = {
                c_type: "THBFloat16", kind: Kind::SmallFloat, cast: c"bfloat16", other_names: "", in_torch7: false
            },
            /// Booleans of one byte: 0 or 1; `true` and `false` can be written.
            ///
            /// Writing takes booleans and numbers. All numbers but 0 are true, NaN too. Lua reads 0 and 1; any byte that is
            /// not 0 reads as 1.
            Bool: $crate::convert::Bool = {
                c_type: "unsigned char", kind: Kind::Bool, cast: c"bool", other_names: "", in_torch7: false
            },
            /// Floats of 8 bits with 3 bits of mantissa, up to 448, without infinity.
            ///
            /// A number that is too large becomes NaN. Converted through single precision, as in PyTorch, like the other floats
            /// of 8 bits.
            Float8_e4m3fn: $crate::convert::Float8E4m3fn = {
                c_type: "THFloat8_e4m3fn", kind: Kind::SmallFloat, cast: c"float8_e4m3fn", other_names: "", in_torch7: false
            },
            /// Floats of 8 bits with 2 bits of mantissa, up to 57344.
            ///
            /// A number that is too large becomes infinity.
            Float8_e5m2: $crate::convert::Float8E5m2 = {
                c_type: "THFloat8_e5m2", kind: Kind::SmallFloat, cast: c"float8_e5m2", other_names: "", in_torch7: false
            },
            /// Floats of 8 bits with 3 bits of mantissa, up to 240, without infinity or -0.
            ///
            /// A number that is too large becomes NaN.
            Float8_e4m3fnuz: $crate::convert::Float8E4m3fnuz = {
                c_type: "THFloat8_e4m3fnuz", kind: Kind::SmallFloat, cast: c"float8_e4m3fnuz", other_names: "", in_torch7: false
            },
            /// Floats of 8 bits with 2 bits of mantissa, up to 57344, without infinity or -0.
            ///
            /// A number that is too large becomes NaN.
            Float8_e5m2fnuz: $crate::convert::Float8E5m2fnuz = {
                c_type: "THFloat8_e5m2fnuz", kind: Kind::SmallFloat, cast: c"float8_e5m2fnuz", other_names: "", in_torch7: false
            },
            /// Complex numbers: two floats, the real part first.
            ComplexFloat: $crate::convert::Complex<f32> = {
                c_type: "complex float",
                kind: Kind::Complex { part: DType::Float },
                cast: c"complex_float",
                other_names: "complex64 cfloat",
                in_torch7: false
            },
            /// Complex numbers: two doubles, the real part first.
            ComplexDouble: $crate::convert::Complex<f64> = {
                c_type: "complex double",
                kind: Kind::Complex { part: DType::Double },
                cast: c"complex_double",
                other_names: "complex128 cdouble",
                in_torch7: false
            },
            /// Bytes without a type: numbers from 0 to 255.
            ///
            /// Converted as a `Byte` is. In Lua, a copy between such a storage and one of another class copies bytes.
            Untyped: $crate::convert::RawByte = {
                c_type: "unsigned char", kind: Kind::Untyped, cast: c"untyped", other_names: "", in_torch7: false
            }
        }
    };
}

/// Evaluates `$body`, in which `$T` is the Rust type of the elements of `$dtype`.
macro_rules! with_element {
    ($dtype:expr, $T:ident => $body:expr) => {
        $crate::element::for_each_element! { [$crate::element::dispatch_element] { ($dtype) ($T) ($body) } }
    };
}

macro_rules! dispatch_element {
    (($dtype:expr) ($T:ident) ($body:expr) ; $($(#[$about:meta])+ $class:ident: $type:ty = $row:tt),*) => {
        match $dtype {
            $($crate::element::DType::$class => {
                type $T = $type;
                $body
            })*
        }
    };
}

/// Evaluates `$body`, in which `$T` is the Rust type of the elements of `$dtype`, if a processor calculates with that type: integers,
/// floats of 32 and 64 bits, and Bool. `$other` for all other dtypes.
macro_rules! with_native {
    ($dtype:expr, $T:ident => $body:expr, else $other:expr) => {
        $crate::element::with_native! {
            ($dtype) ($T) ($body) ($other)
            Byte: u8, Char: i8, Short: i16, Int: i32, Long: i64, UInt16: u16, UInt32: u32, UInt64: u64,
            Float: f32, Double: f64, Bool: $crate::convert::Bool
        }
    };
    (($dtype:expr) ($T:ident) ($body:expr) ($other:expr) $($class:ident: $type:ty),*) => {
        match $dtype {
            $($crate::element::DType::$class => {
                type $T = $type;
                $body
            })*
            _ => $other,
        }
    };
}

pub(crate) use {dispatch_element, for_each_element, with_element, with_native};

/// The kind of number that an element is. Code that treats similar dtypes in the same way asks for the kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An integer without a sign.
    Unsigned,
    /// An integer with a sign.
    Signed,
    /// A float for which C has a type.
    Float,
    /// A float of 8 or 16 bits. C has no type for it and only sees the bits. [`DType::small_float`] returns its format.
    SmallFloat,
    /// A complex number.
    Complex {
        /// The dtype of the real part and of the imaginary part.
        part: DType,
    },
    /// A boolean.
    Bool,
    /// A byte without a type. The engine converts it like an unsigned integer. In Lua, a copy between such a storage and one of
    /// another class copies bytes.
    Untyped,
}

impl Kind {
    /// The name of the kind on the Lua side.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unsigned => "unsigned",
            Self::Signed => "signed",
            Self::Float => "float",
            Self::SmallFloat => "small float",
            Self::Complex { .. } => "complex",
            Self::Bool => "bool",
            Self::Untyped => "untyped",
        }
    }
}

/// The fields of a row in the list of dtypes.
struct Row {
    /// The C type of an element, as in the FFI declaration of `TH<CLASS>Storage`. For a small float this is the name of a C
    /// structure that has the bits in its field `x`.
    c_type: &'static str,
    kind: Kind,
    /// The name of the method that converts to this class, as in `s:float()`. It is PyTorch's name if PyTorch has one.
    cast: &'static CStr,
    /// The names that PyTorch has for the dtype, separated by spaces. The name of the class in small letters is left out.
    other_names: &'static str,
    /// Whether Torch7 has this class.
    in_torch7: bool,
}

macro_rules! define_dtype {
    (; $($(#[doc = $about:literal])+ $class:ident: $type:ty = $row:tt),*) => {
        /// The type of the elements of a storage. The number of a dtype is its position in [`DType::ALL`], from 0.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(non_camel_case_types, reason = "the names are those of the classes, which are PyTorch's")]
        #[repr(u8)]
        pub enum DType {
            $(
                $(#[doc = $about])+
                ///
                #[doc = concat!("The class is `torch.", stringify!($class), "Storage`, the elements are `", stringify!($type), "`.")]
                $class,
            )*
        }

        impl DType {
            /// Every dtype, in the order of their numbers.
            pub const ALL: &[Self] = &[$(Self::$class),*];

            const ROWS: &[Row] = &[$(Row $row),*];

            /// The name of the Lua class, for example `"torch.ByteStorage"`. Torch7's classes have Torch7's names.
            #[must_use]
            pub const fn class_name(self) -> &'static str {
                match self {
                    $(Self::$class => concat!("torch.", stringify!($class), "Storage"),)*
                }
            }

            /// The name of the Lua class of tensors, for example `"torch.ByteTensor"`. There is no class of untyped tensors, but the
            /// name is given for it too.
            #[must_use]
            pub const fn tensor_class_name(self) -> &'static str {
                match self {
                    $(Self::$class => concat!("torch.", stringify!($class), "Tensor"),)*
                }
            }

            /// The documentation of the dtype's row: a line that sums it up, which an empty line and more text may follow.
            #[must_use]
            pub const fn about(self) -> &'static str {
                match self {
                    $(Self::$class => concat!($($about, "\n"),+),)*
                }
            }

            /// The size of an element in bytes.
            #[must_use]
            pub const fn width(self) -> usize {
                match self {
                    $(Self::$class => size_of::<$type>(),)*
                }
            }

            /// The format of the elements and their conversion from and to numbers, or `None` if they are not floats of 8 or 16
            /// bits.
            #[must_use]
            pub const fn small_float(self) -> Option<SmallFloat> {
                match self {
                    $(Self::$class => <$type as $crate::convert::Number>::SMALL_FLOAT,)*
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

/// A Rust type that an element of a storage can have. Every bit pattern is a valid value of it, so any memory of the right length
/// holds valid elements. The trait is sealed: only the types in the list of dtypes have it.
pub trait Element: sealed::Sealed + crate::convert::Number + PartialEq + Send + Sync {
    /// The dtype whose elements have this type.
    const DTYPE: DType;
}

for_each_element! { [define_dtype] {} }

impl DType {
    const fn row(self) -> &'static Row {
        &Self::ROWS[self.number()]
    }

    /// The C type of an element, as in the FFI declaration of `TH<CLASS>Storage`.
    #[must_use]
    pub const fn c_type(self) -> &'static str {
        self.row().c_type
    }

    /// The kind of number that an element is.
    #[must_use]
    pub const fn kind(self) -> Kind {
        self.row().kind
    }

    /// The name of the method that converts to this class, for example `"complex_float"` for `s:complex_float()`.
    #[must_use]
    pub const fn cast_name(self) -> &'static CStr {
        self.row().cast
    }

    /// The names that PyTorch has for the dtype, separated by spaces. The name of the class in small letters is left out.
    #[must_use]
    pub const fn other_names(self) -> &'static str {
        self.row().other_names
    }

    /// PyTorch's name of the dtype, as it prints it after `torch.`: `"uint8"`, `"float32"`, `"bfloat16"`.
    #[must_use]
    pub fn dtype_name(self) -> &'static str {
        let first = self.other_names().split_ascii_whitespace().next();
        first.or_else(|| self.cast_name().to_str().ok()).unwrap_or_default()
    }

    /// Whether Torch7 has this class, so that `.t7` files can contain it.
    #[must_use]
    pub const fn is_in_torch7(self) -> bool {
        self.row().in_torch7
    }

    /// Whether the elements are integers. Bytes without a type count as integers.
    #[must_use]
    pub const fn is_integer(self) -> bool {
        matches!(self.kind(), Kind::Unsigned | Kind::Signed | Kind::Untyped)
    }

    /// Whether the elements are bytes without a type.
    #[must_use]
    pub const fn is_untyped(self) -> bool {
        matches!(self.kind(), Kind::Untyped)
    }

    /// Whether the elements are complex numbers.
    #[must_use]
    pub const fn is_complex(self) -> bool {
        matches!(self.kind(), Kind::Complex { .. })
    }

    /// The dtype of the two parts of a complex number. For every other dtype it is the dtype itself.
    #[must_use]
    pub const fn part(self) -> Self {
        match self.kind() {
            Kind::Complex { part } => part,
            _ => self,
        }
    }

    /// The class name without the module, for example `"ByteStorage"`.
    #[must_use]
    pub fn short_name(self) -> &'static str {
        let name = self.class_name();
        name.strip_prefix("torch.").unwrap_or(name)
    }

    /// The class name without the module and without `Storage`, for example `"Byte"`.
    #[must_use]
    pub fn element_name(self) -> &'static str {
        let name = self.short_name();
        name.strip_suffix("Storage").unwrap_or(name)
    }

    /// The dtype of the class with this name, with the module (`"torch.ByteStorage"`) or without it (`"ByteStorage"`).
    #[must_use]
    pub fn from_class_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|dtype| name == dtype.class_name() || name == dtype.short_name())
    }

    /// The dtype with this name. The name is a class name, or the name that PyTorch has for a dtype, such as `"float32"` or
    /// `"half"`. It may begin with `"torch."`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let bare = name.strip_prefix("torch.").unwrap_or(name);
        let is_meant = |dtype: &Self| {
            is_in_small_letters(bare, dtype.element_name())
                || dtype.other_names().split_ascii_whitespace().any(|other| other == bare)
        };
        Self::from_class_name(name).or_else(|| Self::ALL.iter().copied().find(is_meant))
    }

    /// The position of this dtype in [`DType::ALL`], from 0.
    #[must_use]
    pub const fn number(self) -> usize {
        // In an enum without fields and without explicit numbers, the discriminant is the position.
        self as usize
    }
}

/// Whether `small` is `name` in small letters.
fn is_in_small_letters(small: &str, name: &str) -> bool {
    small.len() == name.len() && small.bytes().zip(name.bytes()).all(|(small, letter)| small == letter.to_ascii_lowercase())
}

const _: () = assert!(size_of::<f16>() == 2 && size_of::<DType>() == 1);

//! The kinds of objects that the format itself defines.

use torch_storage::DType;
use torch_storage::t7::Kind;

#[test]
fn the_class_name_decides_the_kind() {
    for (class, kind) in [
        ("torch.ByteStorage", Kind::Storage(DType::Byte)),
        ("torch.HalfTensor", Kind::Tensor(DType::Half)),
        ("torch.CudaStorage", Kind::CudaStorage(DType::Float)),
        ("torch.CudaDoubleStorage", Kind::CudaStorage(DType::Double)),
        ("torch.CudaTensor", Kind::CudaTensor(DType::Float)),
        ("torch.CudaLongTensor", Kind::CudaTensor(DType::Long)),
        ("torch.Storage", Kind::Other),
        ("torch.UntypedStorage", Kind::Other),
        // Torch7 does not have these classes, so the format does not define their data.
        ("torch.BFloat16Storage", Kind::Other),
        ("torch.BoolTensor", Kind::Other),
        ("torch.CudaFloat8_e5m2Storage", Kind::Other),
        ("torch.Tensor", Kind::Other),
        ("torch.CudaFoo", Kind::Other),
        ("nn.Linear", Kind::Other),
        ("", Kind::Other),
    ] {
        assert_eq!(Kind::of(class.as_bytes()), kind, "{class}");
    }
}

//! Which class a misspelt name means, for names that a program looks up in the table `torch`.

use crate::element::DType;
use crate::lua::tensor;

/// The class whose name, without `torch.`, is this one but for a slip. `None` if there is no such class.
///
/// Programs ask whether other libraries have added classes, as in `if torch.CudaTensor then`, so a name that someone may have chosen
/// is not a slip: one with another first letter (PyTorch's QInt32Storage), the name of a class with a letter at its end, and one with a
/// digit more (Int8Tensor).
pub fn misspelt(name: &[u8]) -> Option<&'static str> {
    let storages = DType::ALL.iter().copied().map(DType::class_name);
    let mut classes = storages.chain(tensor::dtypes().map(DType::tensor_class_name));
    classes.find(|class| class.strip_prefix("torch.").is_some_and(|class| is_slip(name, class.as_bytes())))
}

/// Whether one letter is wrong, missing or too many, two neighbours are swapped, or only the case differs.
fn is_slip(name: &[u8], class: &[u8]) -> bool {
    let same = |(a, b): &(&u8, &u8)| a.eq_ignore_ascii_case(b);
    let head = name.iter().zip(class).take_while(same).count();
    let (name, class) = (&name[head..], &class[head..]);
    if head == 0 || name.len() > class.len() + 1 || class.is_empty() && !name.is_empty() {
        return false;
    }
    let tail = name.iter().rev().zip(class.iter().rev()).take_while(same).count();
    match (&name[..name.len() - tail], &class[..class.len() - tail]) {
        ([more], []) => !more.is_ascii_digit(),
        ([], []) | ([], [_]) | ([_], [_]) => true,
        ([a, b], [c, d]) => same(&(a, d)) && same(&(b, c)),
        _ => false,
    }
}

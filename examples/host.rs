//! A Rust program that lets a Lua script filter its samples, in place.
//!
//! ```sh
//! cargo run --release --example host --features host,luajit,vendored [-- script.lua]
//! ```

use std::error::Error;
use std::time::Instant;

use mlua::{Function, Lua, Table};
use torch_storage::convert::Scalar;
use torch_storage::{DType, Storage, host};

const HELP: &str = "\
host [SCRIPT] lets a Lua script filter the samples of a Rust program, in place, and prints what it finds.

  SCRIPT  a file that returns a table with a function run(samples, out), which sets out.head and out.peak (a moving average)

The exit status is 0, and 1 after an error.
";

/// How many samples there are.
const SAMPLES: usize = 1 << 20;

/// A filter, as a user of the program writes it. `out` may be a table of results for the program.
const SCRIPT: &str = "
local filter = {}

-- A moving average over 4 samples, written into the samples themselves.
function filter.run(samples, out)
  local a, b, c = 0, 0, 0
  for i = 1, #samples do
    local x = samples[i]
    samples[i] = (a + b + c + x) / 4
    a, b, c = b, c, x
  end
  -- A part of the samples, without a copy; and a storage that belongs to the script at first.
  out.head = samples:sub(1, 8)
  out.peak = torch.DoubleStorage{0, 0}
  for i = 1, #samples do
    if samples[i] > out.peak[2] then
      out.peak[1], out.peak[2] = i, samples[i]
    end
  end
end

return filter
";

fn main() -> Result<(), Box<dyn Error>> {
    let script = match std::env::args().nth(1) {
        Some(word) if word == "--help" => {
            print!("{HELP}");
            return Ok(());
        }
        Some(path) => std::fs::read_to_string(path)?,
        None => SCRIPT.to_owned(),
    };

    let lua = Lua::new();
    lua.globals().set("torch", host::open(&lua)?)?;
    let filter: Table = lua.load(script).set_name("@filter.lua").eval()?;
    let run: Function = filter.get("run")?;

    // The vector goes into the storage, and its memory stays where it is.
    let signal: Vec<f32> = (0u16..=u16::MAX).cycle().take(SAMPLES).map(|n| f32::from(n % 100)).collect();
    let address = signal.as_ptr();
    let samples = Storage::from_vec(signal);
    assert_eq!(samples.data().cast_const().cast(), address);

    let out = lua.create_table()?;
    let start = Instant::now();
    run.call::<()>((&samples, &out))?;
    println!("the script took {:.1?} for {SAMPLES} samples", start.elapsed());

    let head: Storage = out.get("head")?;
    let peak: Storage = out.get("peak")?;
    let peak: Vec<f64> = peak.to_vec()?;
    println!("the first samples: {:?}", head.to_vec::<f32>()?);
    println!("the peak: sample {} is {}", peak[0], peak[1]);

    // A view shows what the program writes, even after the Lua state has ended.
    drop(lua);
    samples.set(0, Scalar::Float(-1.0))?;
    assert_eq!(head.get(0), Some(-1.0));

    // A table that scripts may read and not write.
    let lua = Lua::new();
    host::open(&lua)?;
    lua.globals().set("primes", Storage::from_owner([2u8, 3, 5, 7]))?;
    let refused = lua.load("primes[1] = 1").exec();
    println!("{}", refused.err().map_or_else(String::new, |error| error.to_string().lines().take(1).collect()));

    // An array that a script makes, of another type.
    let halves: Storage = lua.load("return require 'torch'.HalfStorage{0.5, 1.5}").eval()?;
    assert_eq!(halves.cast(DType::Float)?.to_vec::<f32>()?, [0.5, 1.5]);
    Ok(())
}

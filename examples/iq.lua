-- Finds a frequency in the recording of a radio receiver: a storage of complex floats.
local HELP = [=[
iq.lua [FILE [RATE]] finds the strongest frequency in the recording of a radio receiver, which is complex floats: the real part
in phase, the imaginary part in quadrature.

  FILE  the recording (a tone at -1200 Hz in noise, which the program makes)
  RATE  the number of samples a second (48000)

The exit status is 0, and 1 after an error.
]=]
if arg[1] == '--help' then
  io.write(HELP)
  os.exit(0)
end

local torch = require 'torch'

local function fail(text)
  io.stderr:write('iq: ', text, '\n')
  os.exit(1)
end

-- Pseudo-random numbers, the same on every machine.
local function noise(seed)
  return function()
    seed = (seed * 16807) % 2147483647
    return seed / 2147483647 - 0.5
  end
end

local function make(name, rate, frequency, count)
  local next_noise = noise(42)
  local s = torch.ComplexFloatStorage { filename = name, shared = true, size = count }
  for i = 1, count do
    local angle = 2 * math.pi * frequency * (i - 1) / rate
    s:set(i, 0.5 * math.cos(angle) + 0.2 * next_noise(), 0.5 * math.sin(angle) + 0.2 * next_noise())
  end
end

-- Replaces `n` complex numbers by their Fourier transform. `n` is a power of two.
local function transform(x, n)
  local j = 0
  for i = 0, n - 1 do
    if i < j then
      x[i + 1], x[j + 1] = x[j + 1], x[i + 1]
    end
    local bit = n / 2
    while bit >= 1 and j >= bit do
      j, bit = j - bit, bit / 2
    end
    j = j + bit
  end
  local span = 1
  while span < n do
    for k = 0, span - 1 do
      local c, s = math.cos(-math.pi * k / span), math.sin(-math.pi * k / span)
      for i = k + 1, n, 2 * span do
        local a, b = x[i], x[i + span]
        local re, im = c * b.re - s * b.im, s * b.re + c * b.im
        x:set(i + span, a.re - re, a.im - im)
        x:set(i, a.re + re, a.im + im)
      end
    end
    span = 2 * span
  end
end

local name, rate = arg[1] or os.tmpname(), tonumber(arg[2] or 48000)
if not rate or rate <= 0 then
  fail 'the rate has to be a number of samples per second'
end
if not arg[1] then
  make(name, rate, -1200, 8192)
end

local opened, bytes = pcall(torch.UntypedStorage, name, false)
if not opened then
  fail(bytes)
end
local count = math.floor(#bytes / 8) -- an incomplete sample at the end is ignored
print(('%d bytes: %d samples, %.4f s'):format(#bytes, count, count / rate))
if count == 0 then
  fail 'the file has no samples'
end
local samples = bytes:view('complex64', 0, count)

local n = 2 ^ math.min(12, math.floor(math.log(count) / math.log(2) + 1e-9))
local spectrum = samples:sub(1, n):complex_double() -- a converted copy
transform(spectrum, n)
local best, power, total = 0, 0, 0
for k = 0, n - 1 do
  local re, im = spectrum:get(k + 1)
  local here = re * re + im * im
  total = total + here
  if here > power then
    best, power = k, here
  end
end
local frequency = (best < n / 2 and best or best - n) * rate / n
print(
  ('strongest of %d frequencies: %.0f Hz, %.0f %% of the power'):format(
    n,
    frequency,
    total > 0 and 100 * power / total or 0
  )
)

if not arg[1] then
  os.remove(name)
end

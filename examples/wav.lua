-- Reads a WAV file without copying it: the fields of the header and the samples are views of one map.
local HELP = [[
wav.lua [FILE] reads a WAV file without copying it, and prints its format and for each channel the loudest sample, the mean
loudness and the frequency.

  FILE  the WAV file: integers of 8 to 32 bits, or floats (a tone of 440 Hz and one second, which the program makes)

The exit status is 0, and 1 after an error.
]]
if arg[1] == '--help' then
  io.write(HELP)
  os.exit(0)
end

local torch = require 'torch'

local function fail(text)
  io.stderr:write('wav: ', text, '\n')
  os.exit(1)
end

-- Writes a 16-bit stereo file with the tone on the left, and half as loud on the right.
local function make(name, rate, frequency)
  local data = torch.ShortStorage(2 * rate)
  for i = 1, rate do
    local value = 16000 * math.sin(2 * math.pi * frequency * (i - 1) / rate)
    data[2 * i - 1] = value
    data[2 * i] = value / 2
  end
  local file = torch.UntypedStorage { filename = name, shared = true, size = 44 + data:nbytes() }
  file:copy(torch.UntypedStorage 'RIFF....WAVEfmt ....................data....', 1)
  file:view('int32', 4, 1):fill(36 + data:nbytes())
  file:view('int32', 16, 1):fill(16) -- the length of the format chunk in bytes
  file:view('int16', 20, 2):copy(torch.ShortStorage { 1, 2 }) -- integer samples, two channels
  file:view('int32', 24, 2):copy(torch.IntStorage { rate, 4 * rate })
  file:view('int16', 32, 2):copy(torch.ShortStorage { 4, 16 })
  file:view('int32', 40, 1):fill(data:nbytes())
  file:view('int16', 44):copy(data)
end

local name = arg[1] or os.tmpname()
if not arg[1] then
  make(name, 8000, 440)
end

local opened, bytes = pcall(function()
  return torch.UntypedStorage { filename = name, readonly = true }
end)
if not opened then
  fail(bytes)
end
if #bytes < 12 or bytes:string(1, 4) ~= 'RIFF' or bytes:string(9, 12) ~= 'WAVE' then
  fail(name .. ' is not a WAV file')
end

-- The file is a sequence of chunks: four letters, a length in bytes, and the bytes, padded to an even number.
local chunks, offset = {}, 12
while offset + 8 <= #bytes do
  local length = bytes:view('int32', offset + 4, 1)[1] % 2 ^ 32
  length = math.min(length, #bytes - offset - 8)
  chunks[bytes:string(offset + 1, offset + 4)] = { offset = offset + 8, length = length }
  offset = offset + 8 + length + length % 2
end
local format, data = chunks['fmt '], chunks.data
if not format or format.length < 16 or not data then
  fail 'the format chunk or the data chunk is missing'
end

local shorts, ints = bytes:view('int16', format.offset, 8), bytes:view('int32', format.offset, 4)
local coding, channels, rate, bits = shorts[1], shorts[2], ints[2], shorts[8]
-- Format 1 has integer samples and format 3 floating-point ones. Only 8-bit samples have no sign.
local dtypes = { [1] = { [8] = 'uint8', [16] = 'int16', [32] = 'int32' }, [3] = { [32] = 'float32', [64] = 'float64' } }
local dtype = (dtypes[coding] or {})[bits]
if not dtype or channels < 1 then
  fail(('this program does not know format %d with %d bits'):format(coding, bits))
end
local frame = channels * bits / 8
local frames = math.floor(data.length / frame)
local samples = bytes:view(dtype, data.offset, frames * channels)
print(('%d channels of %s, %d Hz, %d frames, %.3f s'):format(channels, dtype, rate, frames, frames / rate))

local middle = dtype == 'uint8' and 128 or 0
for channel = 1, channels do
  local peak, energy, crossings, last = 0, 0, 0, 0
  for i = channel, #samples, channels do
    local value = samples[i] - middle
    peak = math.max(peak, math.abs(value))
    energy = energy + value * value
    if last < 0 and value >= 0 then
      crossings = crossings + 1
    end
    last = value
  end
  local root = frames > 0 and math.sqrt(energy / frames) or 0
  local frequency = frames > 0 and crossings * rate / frames or 0
  print(('channel %d: peak %.6g, root mean square %.6g, about %.0f Hz'):format(channel, peak, root, frequency))
end

if not arg[1] then
  os.remove(name)
end

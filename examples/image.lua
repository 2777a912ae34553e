-- Reads a picture (a PPM (P6), or an uncompressed BMP of 24 bits) as bytes, prints its mean colour and a sketch of it, and
-- writes it in grey as a PGM.
--
--   luajit examples/image.lua [picture [grey.pgm]]     (examples/data/flag.ppm if no picture is given)
local torch = require 'torch'

local function fail(text)
  io.stderr:write('image: ', text, '\n')
  os.exit(1)
end

-- A reader returns the width, the height, and a function that gives the red, green and blue of the pixel in column x of row y,
-- both from 0.
local function read_ppm(bytes)
  local head = bytes:string(1, math.min(#bytes, 1024))
  -- The header has four words with white space between them. A comment goes on to the end of its line. One white space
  -- character follows the last word, and then the pixels begin.
  local words, position = {}, 1
  while #words < 4 do
    local _, blank_end = head:find('^%s*', position)
    position = blank_end + 1
    if head:sub(position, position) == '#' then
      position = (head:find('\n', position, true) or #head) + 1
    else
      local first, last = head:find('^%S+', position)
      if not first then
        fail 'the header of the picture is incomplete'
      end
      words[#words + 1], position = head:sub(first, last), last + 1
    end
  end
  local width, height, most = tonumber(words[2]), tonumber(words[3]), tonumber(words[4])
  if not width or not height or most ~= 255 then
    fail 'this program reads only pictures with one byte for each colour'
  end
  if position + 3 * width * height > #bytes then
    fail(('the picture is incomplete: it has %d bytes and needs %d'):format(#bytes, position + 3 * width * height))
  end
  local pixels = bytes:view('uint8', position, 3 * width * height)
  local function pixel(x, y)
    local i = 3 * (y * width + x) + 1
    return pixels[i], pixels[i + 1], pixels[i + 2]
  end
  return width, height, pixel
end

local function read_bmp(bytes)
  if #bytes < 54 then
    fail 'the header of the picture is incomplete'
  end
  -- No field is aligned, because a header of 14 bytes comes before them. Views need no alignment.
  local start = bytes:view('int32', 10, 1)[1]
  local width, height = bytes:view('int32', 18, 1)[1], bytes:view('int32', 22, 1)[1]
  local bits, compression = bytes:view('int16', 28, 1)[1], bytes:view('int32', 30, 1)[1]
  if bits ~= 24 or compression ~= 0 or width < 1 then
    fail 'this program reads only uncompressed pictures with 24 bits for each pixel'
  end
  local is_upside_down = height > 0 -- most BMP files begin with the lowest row
  height = math.abs(height)
  local row = math.ceil(3 * width / 4) * 4
  if start < 0 or start + row * height > #bytes then
    fail(('the picture is incomplete: it has %d bytes and needs %d'):format(#bytes, start + row * height))
  end
  local pixels = bytes:view('uint8', start, row * height)
  local function pixel(x, y)
    local i = (is_upside_down and height - 1 - y or y) * row + 3 * x + 1
    return pixels[i + 2], pixels[i + 1], pixels[i]
  end
  return width, height, pixel
end

local here = arg[0]:match '^(.*)/[^/]*$' or '.'
local name = arg[1] or here .. '/data/flag.ppm'
local opened, bytes = pcall(function()
  return torch.UntypedStorage { filename = name, readonly = true }
end)
if not opened then
  fail(bytes)
end
local kind = #bytes >= 2 and bytes:string(1, 2) or ''
local read = ({ P6 = read_ppm, BM = read_bmp })[kind]
if not read then
  fail(name .. ' is neither a PPM (P6) nor a BMP')
end
local width, height, pixel = read(bytes)

local grey = torch.ByteStorage(width * height)
local sums = torch.DoubleStorage(3)
for y = 0, height - 1 do
  for x = 0, width - 1 do
    local r, g, b = pixel(x, y)
    sums[1], sums[2], sums[3] = sums[1] + r, sums[2] + g, sums[3] + b
    grey[y * width + x + 1] = 0.299 * r + 0.587 * g + 0.114 * b + 0.5
  end
end
local pixels = width * height
print(('%s, %d x %d'):format(kind == 'P6' and 'PPM' or 'BMP', width, height))
print(('mean colour: red %.1f, green %.1f, blue %.1f'):format(sums[1] / pixels, sums[2] / pixels, sums[3] / pixels))

-- Eight rows of characters: the brighter the picture, the more of the cell is filled. This suits a dark terminal.
local RAMP = ' .:-=+*#%@'
for line = 0, 7 do
  local letters = {}
  for column = 0, 31 do
    local value = grey[math.floor(line * height / 8) * width + math.floor(column * width / 32) + 1]
    letters[#letters + 1] = RAMP:sub(1 + math.floor(value * 10 / 256), 1 + math.floor(value * 10 / 256))
  end
  print('|' .. table.concat(letters) .. '|')
end

if arg[2] then
  local head = ('P5\n%d %d\n255\n'):format(width, height)
  local file = torch.UntypedStorage.fromfile(arg[2], true, #head + pixels)
  file:copy(torch.UntypedStorage(head), 1)
  file:view('uint8', #head):copy(grey)
end

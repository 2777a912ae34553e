-- Reads, changes and writes pictures.
--
-- A picture is a tensor of rows, columns and channels over the mapped file. Every operation but grey and planes is another view
-- of the same bytes; nothing is copied until the picture is written.
local HELP = [=[
image.lua [PICTURE [WRITTEN [OPERATION ...]]] prints the mean colour of a picture and a sketch of it, and writes what the
operations make of it as a PPM, or as a PGM if one channel is left.

  PICTURE    the picture: a PPM (P6), or an uncompressed BMP of 24 bits (examples/data/flag.ppm)
  WRITTEN    the file that is written (none)
  OPERATION  crop=X,Y,WIDTH,HEIGHT (X and Y from 1), flip (upside down), mirror, turn (by a quarter), red, green, blue (one
             channel), planes (the channels below each other), grey; in any order (grey)

The exit status is 0, and 1 after an error.
]=]
if arg[1] == '--help' then
  io.write(HELP)
  os.exit(0)
end

local torch = require 'torch'

local function fail(text)
  io.stderr:write('image: ', text, '\n')
  os.exit(1)
end

-- A reader returns the picture as a tensor: rows, columns, and the channels red, green and blue.
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
  return bytes:view('uint8', position, 3 * width * height):view(height, width, 3)
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
  -- A pixel is blue, green, red, and most files begin with the lowest row. So the first element is the red of the left pixel of
  -- the row that is shown on top, and strides are negative.
  local pixels = bytes:view('uint8', start, row * height)
  local top = is_upside_down and row * (height - 1) or 0
  local strides = { is_upside_down and -row or row, 3, -1 }
  return torch.ByteTensor(pixels, top + 3, { height, width, 3 }, strides)
end

-- The picture with one dimension in the other direction.
local function reversed(picture, dimension)
  local sizes, strides = picture:size(), picture:stride()
  local last = picture:storageOffset() + (sizes[dimension] - 1) * strides[dimension]
  strides[dimension] = -strides[dimension]
  return torch.ByteTensor(picture:storage(), last, sizes, strides)
end

-- A new picture with one channel.
local function grey_of(picture)
  local height, width = picture:size(1), picture:size(2)
  local grey = torch.ByteTensor(height, width, 1)
  for y = 1, height do
    for x = 1, width do
      local r, g, b = picture:get(y, x, 1), picture:get(y, x, 2), picture:get(y, x, 3)
      grey:set(y, x, 1, 0.299 * r + 0.587 * g + 0.114 * b + 0.5)
    end
  end
  return grey
end

local operations = {
  grey = grey_of,
  crop = function(picture, numbers)
    local x, y, width, height = numbers:match '^(%d+),(%d+),(%d+),(%d+)$'
    if not x then
      fail 'crop needs four numbers: crop=X,Y,WIDTH,HEIGHT'
    end
    return picture:narrow(1, y, height):narrow(2, x, width)
  end,
  flip = function(picture)
    return reversed(picture, 1)
  end,
  mirror = function(picture)
    return reversed(picture, 2)
  end,
  turn = function(picture)
    return reversed(picture:transpose(1, 2), 2)
  end,
  -- The channels first: a copy, in which the rows of a channel lie together.
  planes = function(picture)
    local planes = picture:permute(3, 1, 2):contiguous()
    return planes:view(planes:size(1) * planes:size(2), planes:size(3), 1)
  end,
}
for channel, name in ipairs { 'red', 'green', 'blue' } do
  operations[name] = function(picture)
    return picture:narrow(3, channel, 1)
  end
end

local function operate(picture, word)
  local name, argument = word:match '^(%l+)=?(.*)$'
  local operation = operations[name]
  if not operation then
    fail('there is no operation ' .. word)
  end
  local done, result = pcall(operation, picture, argument)
  if not done then
    fail(('%s: %s'):format(word, (result:gsub('^%S+:%d+: ', ''))))
  end
  return result
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
local picture = read(bytes)
local height, width = picture:size(1), picture:size(2)

print(('%s, %d x %d'):format(kind == 'P6' and 'PPM' or 'BMP', width, height))
local means = {}
for channel = 1, 3 do
  local sum = 0
  for y = 1, height do
    for x = 1, width do
      sum = sum + picture:get(y, x, channel)
    end
  end
  means[channel] = sum / (width * height)
end
print(('mean colour: red %.1f, green %.1f, blue %.1f'):format(unpack(means)))

-- Eight rows of characters: the brighter the picture, the more of the cell is filled. This suits a dark terminal.
local RAMP = ' .:-=+*#%@'
local grey = grey_of(picture)
for line = 0, 7 do
  local letters = {}
  for column = 0, 31 do
    local value = grey:get(1 + math.floor(line * height / 8), 1 + math.floor(column * width / 32), 1)
    letters[#letters + 1] = RAMP:sub(1 + math.floor(value * 10 / 256), 1 + math.floor(value * 10 / 256))
  end
  print('|' .. table.concat(letters) .. '|')
end

if arg[2] then
  for _, word in ipairs { unpack(arg, 3) } do
    picture = operate(picture, word)
  end
  if not arg[3] then
    picture = grey
  end
  local channels = picture:size(3)
  local head = ('P%d\n%d %d\n255\n'):format(channels == 3 and 6 or 5, picture:size(2), picture:size(1))
  os.remove(arg[2]) -- a file that is there could be longer
  local file = torch.UntypedStorage { filename = arg[2], shared = true, size = #head + picture:nElement() }
  file:copy(torch.UntypedStorage(head), 1)
  -- The file is the target of the copy: the elements go from map to map, in the order of the picture that is written.
  file:view('uint8', #head):view(picture:size()):copy(picture)
end

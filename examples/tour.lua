-- A tour of storages on a real file.
local HELP = [[
tour.lua [FILE] maps a file, counts its bytes, converts the counts, makes views of them, and passes the result to a second
process through a shared map.

  FILE  the file (the project's README.md)

The exit status is 0, and 1 after an error.
]]
if arg[1] == '--help' then
  io.write(HELP)
  os.exit(0)
end

local torch = require 'torch'

local function say(text, ...)
  print(select('#', ...) > 0 and text:format(...) or text)
end

local step = 0
local function heading(text)
  step = step + 1
  say('\n%d. %s', step, text)
end

local function fail(text)
  io.stderr:write('tour: ', text, '\n')
  os.exit(1)
end

-- Quotes a word for the shell.
local function quote(word)
  return "'" .. word:gsub("'", "'\\''") .. "'"
end

if #arg > 1 then
  fail 'give one file, or none'
end
local here = arg[0]:match '^(.*)/[^/]*$' or '.'
local name = arg[1] or here .. '/../README.md'

heading('A file as a storage: ' .. name)
local opened, bytes = pcall(torch.ByteStorage, name)
if not opened then
  fail(bytes)
end
say('   bytes = torch.ByteStorage(name) maps the file and reads nothing yet: %d elements of 1 byte.', #bytes)
if #bytes == 0 then
  fail 'the file is empty: there is nothing to count'
end
local head = torch.ByteStorage(bytes, 1, math.min(32, #bytes))
say('   It begins with: %s', (head:string():gsub('[^\32-\126]', '.')))

heading 'A histogram of its bytes in a LongStorage of 256 counters'
local counts = torch.LongStorage(256)
local started = os.clock()
for i = 1, #bytes do
  local counter = bytes[i] + 1
  counts[counter] = counts[counter] + 1
end
local seconds = os.clock() - started
say('   Counted in %.1f ms (%.1f ns per byte).', seconds * 1e3, seconds / #bytes * 1e9)

local common = torch.LongStorage(256):copy(counts)
for rank = 1, math.min(3, #bytes) do
  local best = 1
  for byte, count in common:iter() do
    best = count > common[best] and byte or best
  end
  if common[best] > 0 then
    say('   Number %d: byte %d, %d times', rank, best - 1, common[best])
  end
  common[best] = 0
end

heading 'Converted to a DoubleStorage: frequencies and entropy'
local frequencies = counts:type 'torch.DoubleStorage'
local entropy = 0
for byte, count in frequencies:iter() do
  local frequency = count / #bytes
  frequencies[byte] = frequency
  if frequency > 0 then
    entropy = entropy - frequency * math.log(frequency) / math.log(2)
  end
end
say('   The entropy is %.6f bits per byte.', entropy)

heading 'Views: parts of the histogram that share its memory'
local function total(storage)
  local sum = 0
  for _, count in storage:iter() do
    sum = sum + count
  end
  return sum
end
local ascii = torch.LongStorage(counts, 1, 128)
local letters = torch.LongStorage(ascii, ('a'):byte() + 1, 26) -- a view of a view; byte 0 is element 1
say('   ascii = torch.LongStorage(counts, 1, 128) adds up to %d of %d bytes.', total(ascii), total(counts))
say('   Its 26 elements from letter a on add up to %d.', total(letters))

heading 'The map is private: changing it leaves the file alone'
local before = head[1]
head[1] = 255 - before
say('   Element 1 was %d and is %d here; a new map of the file says %d.', before, bytes[1], torch.ByteStorage(name)[1])
head[1] = before

heading 'Passing the results to a second process through a shared map'
local path = os.tmpname()
-- 256 frequencies, the entropy, and an element for the answer.
local shared = torch.DoubleStorage { filename = path, shared = true, size = 258 }
torch.DoubleStorage(shared, 1, 256):copy(frequencies)
shared[257] = entropy
shared:flush()
say('   Wrote %d bytes to %s', shared:nbytes(), path)

local reader = [[
local torch = require 'torch'
local results = torch.DoubleStorage { filename = %q, shared = true }
local sum = 0
for byte = 1, 256 do
  sum = sum + results[byte]
end
print(('%%.17g'):format(results[257]))
results[258] = sum]]
local interpreter, lowest = {}, -1
while arg[lowest - 1] do
  lowest = lowest - 1
end
for i = lowest, -1 do
  interpreter[#interpreter + 1] = quote(arg[i])
end
local pipe = io.popen(table.concat(interpreter, ' ') .. ' -e ' .. quote(reader:format(path)))
local answer = pipe:read '*a'
pipe:close()
os.remove(path)

if tonumber(answer) ~= entropy then
  fail('the second process read another entropy: ' .. answer)
end
if math.abs(shared[258] - 1) > 1e-9 then
  fail('the second process wrote ' .. shared[258] .. ' to the map')
end
say('   It read the entropy %.6f from the file, equal to the last bit,', tonumber(answer))
say('   and wrote the sum of the frequencies to the map, where this process sees it: %.6f', shared[258])

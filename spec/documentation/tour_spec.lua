-- examples/tour.lua, run as by a user: its output about a file agrees with a count that uses no storage.
-- Interpreters: luajit, lua5.4
local support = require 'spec.support'

local function quote(word)
  return "'" .. word:gsub("'", "'\\''") .. "'"
end

local function tour(...)
  local command = support.interpreter .. ' examples/tour.lua'
  for _, word in ipairs { ... } do
    command = command .. ' ' .. quote(word)
  end
  return support.execute(command)
end

-- Counts the byte values with Lua strings only.
local function histogram(text)
  local counts = {}
  for byte = 0, 255 do
    counts[byte] = 0
  end
  for character in text:gmatch '.' do
    local byte = character:byte()
    counts[byte] = counts[byte] + 1
  end
  counts[0] = #text -- `.` does not match \0 in PUC Lua's patterns, so these bytes are the rest
  for byte = 1, 255 do
    counts[0] = counts[0] - counts[byte]
  end
  return counts
end

local function sum(counts, first, last)
  local total = 0
  for byte = first, last do
    total = total + counts[byte]
  end
  return total
end

local function check(output, text)
  local counts = histogram(text)
  assert.are.equal(#text, tonumber(output:match '(%d+) elements of 1 byte'))

  local order, entropy = {}, 0
  for byte = 0, 255 do
    order[#order + 1] = byte
    local frequency = counts[byte] / #text
    entropy = entropy - (frequency > 0 and frequency * math.log(frequency) / math.log(2) or 0)
  end
  table.sort(order, function(a, b)
    return counts[a] > counts[b] or counts[a] == counts[b] and a < b
  end)
  local ranks = 0
  for rank, byte, count in output:gmatch 'Number (%d): byte (%d+), (%d+) times' do
    ranks = ranks + 1
    assert.are.equal(ranks, tonumber(rank))
    assert.are.equal(order[ranks], tonumber(byte))
    assert.are.equal(counts[order[ranks]], tonumber(count))
  end
  assert.are.equal(3, ranks)

  local printed = ('%.6f'):format(entropy)
  assert.are.equal(printed, output:match 'entropy is ([%d.]+) bits per byte')
  assert.are.equal(printed, output:match 'read the entropy ([%d.]+) from the file')
  assert.are.equal('1.000000', output:match 'where this process sees it: ([%d.]+)')

  local ascii, all = output:match 'adds up to (%d+) of (%d+) bytes'
  assert.are.equal(sum(counts, 0, 127), tonumber(ascii))
  assert.are.equal(#text, tonumber(all))
  assert.are.equal(sum(counts, 97, 122), tonumber(output:match 'letter a on add up to (%d+)'))

  local was, here, file = output:match 'Element 1 was (%d+) and is (%d+) here; a new map of the file says (%d+)'
  assert.are.equal(text:byte(), tonumber(was))
  assert.are.equal(255 - text:byte(), tonumber(here))
  assert.are.equal(text:byte(), tonumber(file))

  local bytes, path = output:match 'Wrote (%d+) bytes to (%S+)'
  assert.are.equal(258 * 8, tonumber(bytes))
  assert.is_nil(io.open(path, 'rb'), 'the temporary file is still there')
end

describe('examples/tour.lua #process', function()
  local path = support.temporary()

  it('describes a file of the project if none is given', function()
    local output, status = tour()
    assert.are.equal(0, status, output)
    check(output, support.slurp 'README.md')
  end)

  it('describes the given file, whatever its name and bytes', function()
    local pieces, seed = {}, 42
    for i = 1, 20000 do
      seed = (seed * 16807) % 2147483647
      pieces[i] = string.char(i % 3 == 0 and 0 or math.floor(seed / 1000) % 256)
    end
    local text = 'a' .. table.concat(pieces)
    local name = support.spit(path 'it\'s 100%s of "it"', text)
    local output, status = tour(name)
    assert.are.equal(0, status, output)
    check(output, text)
    assert.are.equal(text, support.slurp(name))
  end)

  it('names the missing file, and fails', function()
    local name = path 'no such 100% file'
    local output, status = tour(name)
    assert.are.equal(1, status)
    assert.is_truthy(output:find('tour: ', 1, true), output)
    assert.is_truthy(output:find(name, 1, true), output)
    assert.is_truthy(output:find('No such file', 1, true), output)
    assert.is_falsy(output:find('traceback', 1, true), output)
  end)

  it('refuses an empty file and a second name', function()
    local output, status = tour(support.spit(path 'empty', ''))
    assert.are.equal(1, status)
    assert.is_truthy(output:find('the file is empty', 1, true), output)
    output, status = tour('README.md', 'LICENSE')
    assert.are.equal(1, status)
    assert.is_truthy(output:find('one file', 1, true), output)
  end)
end)

-- What LuaJIT records for element access, read in its own listing of a trace. The proofs in accessor_source.lua rely on this, so
-- it is checked on every LuaJIT that runs the specs.
local support = require 'spec.support'
local types = require 'spec.support.types'

local jit = rawget(_G, 'jit')
if not (jit and jit.status()) then
  describe('the traces of element access', function()
    it('exist only where the JIT is on', function()
      assert.is_false(jit and jit.status() or false)
    end)
  end)
  return
end

local path = support.temporary()

-- The body of each loop ends with a guard of its own: the element of the table `t` may not be a number.
local LOOPS = {
  read = 'local x = s[i] local y = t[i] + 0 last = x',
  get = 'local re, im = s:get(i) local y = t[i] + 0 last = re',
  write = 's[i] = i local y = t[i] + 0',
  ['write computed'] = 's[i] = i + x local y = t[i] + 0',
  update = 's[i] = s[i - 1] local y = t[i] + 0',
  size = 'local n = #s local y = t[i] + 0 last = n',
}

-- The same for a tensor of 1000 x 4 elements, and `r`, its third column.
local TENSOR_LOOPS = {
  get = 'local re, im = s:get(i, 3) local y = t[i] + 0 last = re',
  ['get by a list'] = 'local x = s[{ i, 3 }] local y = t[i] + 0 last = x',
  ['get of a column'] = 'local x = r[i] local y = t[i] + 0 last = x',
  set = 's:set(i, 3, i) local y = t[i] + 0',
  ['set by a list'] = 's[{ i, 3 }] = i + x local y = t[i] + 0',
  ['set of a column'] = 'r[i] = i local y = t[i] + 0',
  update = 'r[i] = r[i - 1] local y = t[i] + 0',
  shape = 'local n = s:size(1) + s:dim() + s:nElement() local y = t[i] + 0 last = n',
}

-- Runs a loop over the storage or tensor that `make` makes, and returns the lines of LuaJIT's listing of its last trace.
local function trace(make, loop)
  local listing = support.child(([[
    local torch = require 'torch'
    local s, t = %s, {}
    local r = torch.isTensor(s) and s:select(2, 3)
    s:fill(1)
    for i = 1, 1000 do t[i] = i end
    local f = assert(loadstring('local s, r, t, x = ... local last = 0 for i = 2, 999 do %s end return last', '=loop'))
    -- The functions of a class are compiled when it is used first.
    local _ = s.size
    -- A finalizer that runs during a recording aborts it.
    collectgarbage()
    collectgarbage()
    require('jit.dump').on('is', '-')
    f(s, r, t, 1.5)
    require('jit.dump').off()
  ]]):format(make, loop))
  local _, aborted = listing:gsub('%-%-%-%- TRACE %d+ abort', '')
  assert.equal(0, aborted, listing)
  local lines = {}
  for line in
    assert(listing:match '.*%-%-%-%- TRACE %d+ IR\n(.-)%-%-%-%- TRACE %d+ stop %-> loop', listing):gmatch '[^\n]+'
  do
    lines[#lines + 1] = line
  end
  return lines
end

-- What a line of the listing is: a snapshot, or an instruction with its two flags (`>` for a guard, `}` for one that is not
-- carried out unless the trace is left), its type and its name.
local function parse(line)
  local guard, flag, _, name = line:match '^%d%d%d%d (.)(.) (%S+) +(%S+)'
  if guard then
    return name, guard == '>' or flag == '>', guard == '}' or flag == '}'
  end
  return line:match '^%.%.%.%. +SNAP' and 'SNAP' or ''
end

-- Checks the trace of a loop. The numbers of a tensor's shape are in its userdata, which stays as long as the loop holds it, so
-- loads from there need no snapshot.
local function check(name, lines)
  local access
  local snapshots, accesses, harmless, is_userdata = 0, 0, {}, {}
  for _, line in ipairs(lines) do
    local instruction, is_guard, is_sunk = parse(line)
    local reference = line:match '^(%d%d%d%d) .. udt '
    if reference then
      is_userdata[reference] = true
    end
    -- The table of all bfloat16 numbers is at a constant address, of at least seven digits. It never moves.
    local address = line:match '^(%d%d%d%d) +p64 ADD +%d%d%d%d +%+%d%d%d%d%d%d%d+ *$'
    local shape, base, offset = line:match '^(%d%d%d%d) +p64 ADD +(%d%d%d%d) +%+(%d+) *$'
    -- The shape begins 16 bytes behind the beginning of the block.
    if shape and is_userdata[base] and tonumber(offset) >= 40 + 16 then
      address = shape
    end
    if address then
      harmless[address] = true
    end
    if instruction == 'XSTORE' or instruction == 'XLOAD' and not harmless[line:match 'XLOAD +(%d+)'] then
      access, accesses = line, accesses + 1
    elseif instruction == 'SNAP' then
      access, snapshots = nil, snapshots + 1
    elseif instruction:find '^CNEW' or instruction:find '^TNEW' or instruction:find '^TDUP' then
      assert.is_true(is_sunk, ('%s: %s'):format(name, line))
    end
    if is_guard and access then
      error(('%s: no snapshot between\n%s\n%s\n%s'):format(name, access, line, table.concat(lines, '\n')))
    end
  end
  return snapshots, accesses
end

-- The loads, stores and calls of a trace in each pass of its loop, a letter each. What is before the loop is the first pass.
local function order(lines)
  local letters, found = { XLOAD = 'L', XSTORE = 'S', CALLXS = 'C' }, nil
  for _, line in ipairs(lines) do
    found = line:find 'LOOP' and '' or found
    found = found and found .. (letters[parse(line)] or '')
  end
  return found
end

describe('the traces of element access #process', function()
  for _, T in ipairs(support.some(3, types.NUMBERS)) do
    it('have a snapshot between each access and the next guard, and make no object, for a ' .. T, function()
      for name, loop in pairs(LOOPS) do
        local what = ('%s of a %sStorage'):format(name, T)
        local snapshots, accesses = check(what, trace(('torch.%sStorage(1000)'):format(T), loop))
        assert.is_true(snapshots > 5 and accesses > 3 or name == 'size' and accesses > 1, what)
      end
      for name, loop in pairs(TENSOR_LOOPS) do
        local what = ('%s of a %sTensor'):format(name, T)
        local snapshots, accesses = check(what, trace(('torch.%sTensor(1000, 4)'):format(T), loop))
        assert.is_true(snapshots > 5 and (accesses > 3 or name == 'shape'), what)
      end
    end)
  end

  -- A word that LuaJIT loads again in each pass has an address that was computed before the loop.
  for _, T in ipairs(support.some(3, types.NUMBERS)) do
    it('load no word of the storage in each pass, for a ' .. T, function()
      for name, loop in pairs(LOOPS) do
        local before
        for _, line in ipairs(trace(('torch.%sStorage(1000)'):format(T), loop)) do
          before = before or tonumber(line:match '^(%d%d%d%d) %-+ LOOP')
          local address = before and tonumber(line:match ' XLOAD +(%d%d%d%d)')
          assert.is_true(not address or address > before, ('%s of a %s: %s'):format(name, T, line))
        end
        assert.is_number(before)
      end
    end)
  end

  it('call C before a read and after a write through a view of another class', function()
    -- Everything is loaded again after the call.
    assert.matches('^L+CLLL+S[SL]*SC$', order(trace('torch.IntStorage(1000):view "float32"', LOOPS.update)))
  end)

  it('call C before a read and after a write of a tensor on a view of another class', function()
    local make = 'torch.IntStorage(4000):view("float32"):view(1000, 4)'
    assert.matches('^L+CLLL+S[SL]*SC$', order(trace(make, TENSOR_LOOPS.update)))
  end)

  local FILES = {
    npy = 'torch.npy.save(name, x) return torch.npy.load(name, o)',
    npz = "torch.npz.save(name, { x = x, [('y'):rep(5)] = y }) return torch.npz.load(name, o).x",
    safetensors = 'torch.safetensors.save(name, { y = y, x = x }) return torch.safetensors.load(name).x',
    -- An odd number of bytes is before the elements.
    t7 = "torch.save(name, { 'odd', x }) return torch.load(name, { mmap = true })[2]",
  }
  local MAKE = [[(function(name, o, x, y)
    %s
  end)('%s', { dtype = 'torch.%sStorage' }, torch.%sTensor(1000, 4), torch.ByteTensor(3))]]
  for _, T in ipairs(support.some(3, types.NUMBERS)) do
    it('are those of elements in memory for elements of mapped files, for a ' .. T, function()
      local expected = order(trace(('torch.%sTensor(1000, 4)'):format(T), TENSOR_LOOPS.update))
      for format, file in pairs(FILES) do
        -- A .t7 file has only the classes of Torch7.
        if format ~= 't7' or types.ENTRY[T].in_torch7 then
          local make = MAKE:format(file, path 'x', T, T)
          assert.equal(expected, order(trace(make, TENSOR_LOOPS.update)), format)
        end
      end
    end)
  end
end)

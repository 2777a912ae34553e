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

-- The body of each loop ends with a guard of its own: the element of the table `t` may not be a number.
local LOOPS = {
  read = 'local x = s[i] local y = t[i] + 0 last = x',
  get = 'local re, im = s:get(i) local y = t[i] + 0 last = re',
  write = 's[i] = i local y = t[i] + 0',
  ['write computed'] = 's[i] = i + x local y = t[i] + 0',
  update = 's[i] = s[i - 1] local y = t[i] + 0',
  size = 'local n = #s local y = t[i] + 0 last = n',
}

-- Runs a loop over the storage that `make` makes, and returns the lines of LuaJIT's listing of its last trace.
local function trace(make, loop)
  local listing = support.child(([[
    local torch = require 'torch'
    local s, t = %s, {}
    s:fill(1)
    for i = 1, 1000 do t[i] = i end
    local f = assert(loadstring('local s, t, x = ... local last = 0 for i = 2, 999 do %s end return last', '=loop'))
    -- A finalizer that runs during a recording aborts it.
    collectgarbage()
    collectgarbage()
    require('jit.dump').on('is', '-')
    f(s, t, 1.5)
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

describe('the traces of element access #process', function()
  for _, T in ipairs(types.NUMBERS) do
    it('have a snapshot between each access and the next guard, and make no object, for a ' .. T, function()
      for name, loop in pairs(LOOPS) do
        local lines, access = trace(('torch.%sStorage(1000)'):format(T), loop), nil
        local snapshots, accesses, constant = 0, 0, {}
        for _, line in ipairs(lines) do
          local instruction, is_guard, is_sunk = parse(line)
          -- The table of all bfloat16 numbers is at a constant address. It never moves.
          local address = line:match '^(%d%d%d%d) +p64 ADD +%d%d%d%d +%+%d%d%d%d%d%d%d%d%d%d+ *$'
          if address then
            constant[address] = true
          end
          if instruction == 'XSTORE' or instruction == 'XLOAD' and not constant[line:match 'XLOAD +(%d+)'] then
            access, accesses = line, accesses + 1
          elseif instruction == 'SNAP' then
            access, snapshots = nil, snapshots + 1
          elseif instruction == 'CNEWI' or instruction == 'CNEW' then
            assert.is_true(is_sunk, ('%s of a %s: %s'):format(name, T, line))
          end
          if is_guard and access then
            error(
              ('%s of a %s: no snapshot between\n%s\n%s\n%s'):format(name, T, access, line, table.concat(lines, '\n'))
            )
          end
        end
        assert.is_true(snapshots > 5 and accesses > 3, name)
      end
    end)
  end

  it('call C before a read and after a write through a view of another class', function()
    local letters, order = { XLOAD = 'L', XSTORE = 'S', CALLXS = 'C' }, nil
    for _, line in ipairs(trace('torch.IntStorage(1000):view "float32"', LOOPS.update)) do
      -- What is before the loop is the first pass.
      order = line:find 'LOOP' and '' or order
      order = order and order .. (letters[parse(line)] or '')
    end
    -- Everything is loaded again after the call.
    assert.matches('^L+CLLL+S[SL]*SC$', order)
  end)
end)

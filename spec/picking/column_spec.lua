-- bytes:column and bytes:setColumn, next to a view of the field of each record.
local torch = require 'torch'
local generator = require 'spec.support.generator'
local support = require 'spec.support'
local types = require 'spec.support.types'

local path = support.temporary()

local function fails(pattern, f, ...)
  local ok, message = pcall(f, ...)
  assert.is_false(ok)
  assert.is_truthy(message:find(pattern, 1, true), message)
end

local function random_bytes(random, n)
  local s = torch.ByteStorage(n)
  for i = 1, n do
    s[i] = random(256) - 1
  end
  return s
end

-- The field of the records from `first` on, by a view of each.
local function model(bytes, T, offset, record, first, count, swap)
  local made = torch[T .. 'Storage'](count)
  local width = types.WIDTH[T]
  for i = 1, count do
    local field = bytes:view('uint8', (first + i - 2) * record + offset, width):clone():view(made:type())
    if swap then
      field:byteswap()
    end
    made:untyped():view('uint8', (i - 1) * width, width):rawcopy(field)
  end
  return made
end

describe('a column', function()
  it('is the field of each record, for every class, offset, length and byte order', function()
    local random = generator(1)
    for _, T in ipairs(types.ALL) do
      local width = types.WIDTH[T]
      for _ = 1, support.rounds(12, 60) do
        local record = width + random(30) - 1
        local records, rest = random(40) - 1, random(record) - 1
        local bytes = random_bytes(random, records * record + rest)
        local offset, first = random(record - width + 1) - 1, random(records + 1)
        local count = random(records - first + 2) - 1
        for _, order in ipairs { 'little', 'big', 'native' } do
          local options = { byteorder = order }
          local wanted = model(bytes, T, offset, record, first, count, order == 'big')
          local name = ('%s %d/%d %s'):format(T, offset, record, order)
          local found = bytes:column(wanted:type(), offset, record, first, count, options)
          assert.equal(wanted:type(), found:type(), name)
          assert.equal(wanted:string(), found:string(), name)
          local rest_of = model(bytes, T, offset, record, first, records - first + 1, order == 'big')
          assert.equal(rest_of:string(), bytes:column(wanted:type(), offset, record, first, options):string(), name)
          local all = model(bytes, T, offset, record, 1, records, order == 'big')
          assert.equal(all:string(), bytes:column(wanted:type(), offset, record, options):string(), name)
        end
      end
    end
  end)

  it('is written back without touching other bytes', function()
    local random = generator(2)
    for _, T in ipairs(types.ALL) do
      local width = types.WIDTH[T]
      for _ = 1, support.rounds(6, 30) do
        local record, records = width + random(20) - 1, random(30)
        local bytes = random_bytes(random, records * record + random(record) - 1)
        local offset, first = random(record - width + 1) - 1, random(records)
        local values = random_bytes(random, (random(records - first + 2) - 1) * width):view('torch.' .. T .. 'Storage')
        for _, order in ipairs { 'little', 'big' } do
          local target, wanted = bytes:clone(), bytes:clone()
          for i = 1, #values do
            local field = values:sub(i, i):clone()
            if order == 'big' then
              field:byteswap()
            end
            wanted:view('uint8', (first + i - 2) * record + offset, width):rawcopy(field)
          end
          assert.equal(target, target:setColumn(values, offset, record, first, { byteorder = order }))
          assert.equal(wanted:string(), target:string(), T .. order)
        end
      end
    end
  end)

  it('is the same with many records, in one thread and in several', function()
    local before = torch.getnumthreads()
    local records = 2 ^ 21 + 3
    local bytes = torch.ByteStorage(records * 10)
    local x = torch.FloatStorage(records)
    for i = 1, records, 1001 do
      x[i] = i
    end
    for threads = 1, 3, 2 do
      torch.setnumthreads(threads)
      for _, order in ipairs { 'little', 'big' } do
        bytes:zero():setColumn(x, 3, 10, { byteorder = order })
        local read = bytes:column('float32', 3, 10, { byteorder = order })
        assert.is_true(x:equal(read))
        -- At an address that is not a multiple of 4.
        local part = bytes:view('uint8', 13, (records - 1) * 10 - 3)
        assert.is_true(x:sub(2, records - 1):equal(part:column('float32', 0, 10, { byteorder = order })))
        assert.equal(0, bytes:column('uint8', 2, 10)[records])
      end
    end
    torch.setnumthreads(before)
  end)

  it('is read from bytes of each kind, from views and from read-only memory', function()
    local name = path 'records'
    support.spit(name, ('\1\2\3\4\5'):rep(4))
    for _, T in ipairs { 'Byte', 'Char', 'Untyped' } do
      local bytes = torch[T .. 'Storage'] { filename = name, readonly = true }
      assert.same({ 0x302, 0x302, 0x302, 0x302 }, bytes:column('uint16', 1, 5, { byteorder = 'little' }):totable())
      assert.same({ 5, 5 }, bytes:sub(5, 20):column('uint8', 0, 5, 1, 2):totable())
      fails('read-only', bytes.setColumn, bytes, torch.ByteStorage { 1 }, 0, 5)
      fails('read-only', bytes.setColumn, bytes, torch.ByteStorage(), 0, 5)
    end
    for _, T in ipairs(types.ALL) do
      if T ~= 'Byte' and T ~= 'Char' and T ~= 'Untyped' then
        local s = torch[T .. 'Storage'](8)
        fails('a storage of bytes expected, got torch.' .. T .. 'Storage', s.column, s, 'uint8', 0, 1)
        fails('a storage of bytes expected, got torch.' .. T .. 'Storage', s.setColumn, s, s, 0, 16)
      end
    end
  end)

  it('is written from a view of the same bytes as if it had been read first', function()
    local bytes = torch.ByteStorage(40)
    for i = 1, 40 do
      bytes[i] = i
    end
    local words = bytes:view('uint16', 0, 8)
    local copy = words:clone()
    bytes:setColumn(words, 0, 5)
    assert.is_true(copy:equal(bytes:column('uint16', 0, 5)))
  end)

  it('refuses what is not there, and says what is', function()
    local b = torch.ByteStorage(35)
    local f = b.column
    fails(
      'a field of 4 bytes (torch.FloatStorage) from byte 7 on is not inside a record of 10 bytes',
      f,
      b,
      'float32',
      7,
      10
    )
    fails('a field of 8 bytes', f, b, 'float64', 0, 7)
    fails('a field of 1 bytes', f, b, 'uint8', 2 ^ 62, 10)
    fails('an offset is a whole number of bytes', f, b, 'uint8', -1, 10)
    fails('an offset is a whole number of bytes', f, b, 'uint8', 0 / 0, 10)
    fails('from 1 to 2^63-1, got 0', f, b, 'uint8', 0, 0)
    fails('from 1 to 2^63-1, got -3', f, b, 'uint8', 0, -3)
    fails('number expected, got no value', f, b, 'uint8')
    fails('number expected, got no value', f, b, 'uint8', 0)
    fails('number expected, got table', f, b, 'uint8', 0, {})
    fails('class', f, b)
    fails('no class', f, b, 'float33', 0, 10)
    fails('record out of bounds: 5 is not in the range 1 to 4', f, b, 'uint8', 0, 10, 5)
    fails('record out of bounds: 0 is not in the range 1 to 4', f, b, 'uint8', 0, 10, 0)
    fails(
      '2 records from 3 on are not there: the storage has 3 complete records of 10 bytes',
      f,
      b,
      'uint8',
      0,
      10,
      3,
      2
    )
    fails('a size is a whole number', f, b, 'uint8', 0, 10, 1, -1)
    fails("'native', 'little' or 'big' expected, got 'BIG'", f, b, 'uint8', 0, 10, { byteorder = 'BIG' })
    fails("no option 'order': the options are byteorder", f, b, 'uint8', 0, 10, 1, { order = 'big' })
    fails('nothing more expected, got number', f, b, 'uint8', 0, 10, 1, 1, { byteorder = 'big' }, 1)
    fails('number expected, got table', f, b, 'uint8', 0, 10, {}, 1, {})
    fails('table of options expected, got number', f, b, 'uint8', 0, 10, 1, 1, 1)
    assert.equal(0, #f(b, 'uint8', 0, 10, 4))
    assert.equal(0, #f(b, 'uint8', 0, 2 ^ 60))
    assert.equal(0, #f(torch.ByteStorage(), 'float64', 0, 8))

    local set = b.setColumn
    fails(
      '4 elements do not fit from record 1 on: the storage has 3 complete records',
      set,
      b,
      torch.IntStorage(4),
      0,
      10
    )
    fails('2 elements do not fit from record 3 on', set, b, torch.IntStorage(2), 0, 10, 3)
    fails('record out of bounds', set, b, torch.IntStorage(1), 0, 10, 5)
    fails('torch.*Storage expected, got number', set, b, 1, 0, 10)
    fails('torch.*Storage expected, got torch.IntTensor', set, b, torch.IntTensor(1), 0, 10)
    fails('nothing more expected, got number', set, b, torch.IntStorage(1), 0, 10, 1, {}, 1)
    b:fill(7)
    pcall(set, b, torch.IntStorage(4), 0, 10)
    assert.equal(('\7'):rep(35), b:string())
    fails('methods are called with a colon', b.column, 'uint8', 0, 10)
    local freed = torch.ByteStorage(10)
    freed:free()
    fails('freed', freed.column, freed, 'uint8', 0, 10)
    fails('freed', b.setColumn, b, freed, 0, 10)
  end)

  if support.luajit then
    it('looks the storage up again after a number has run a finalizer', function()
      local ffi = require 'ffi'
      local b = torch.ByteStorage(100)
      assert.same({ 0, 0 }, b:column('uint8', ffi.new('int64_t', 1), ffi.new('uint64_t', 50)):totable())
    end)
  end

  it('can be interrupted between two steps #large', function()
    local records = 2 ^ 26
    local bytes = torch.ByteStorage(records * 8)
    -- A short call shows which functions are called in any case.
    local function interrupted(f, short, ...)
      local expected, learning = {}, true
      local function hook()
        local called = debug.getinfo(2, 'f').func
        if learning then
          expected[called] = true
        elseif not expected[called] then
          debug.sethook()
          error 'interrupted!'
        end
      end
      debug.sethook(hook, 'c')
      pcall(f, short, ...)
      learning = false
      local ok, message = pcall(f, bytes, ...)
      debug.sethook()
      assert.is_false(ok)
      assert.matches('interrupted!', message, 1, true)
    end
    interrupted(bytes.column, torch.ByteStorage(8), 'uint8', 0, 8)
    interrupted(bytes.setColumn, torch.ByteStorage(8), torch.ByteStorage(records):fill(1), 0, 8)
    assert.equal(1, bytes[1])
    assert.equal(0, bytes[#bytes - 7])
  end)
end)

-- rawcopy, byteswap and string on every class, compared with Lua strings and arithmetic on their bytes.
-- Interpreters: luajit, lua5.4
local torch = require 'torch'
local accessors = require 'spec.support.accessors'
local support = require 'spec.support'
local types = require 'spec.support.types'

local path = support.temporary()

local jit = rawget(_G, 'jit')

-- Returns `count` bytes in which neighbours differ and all 256 values occur.
local function noise(count, seed)
  local bytes = {}
  for n = 1, count do
    bytes[n] = string.char((n * 37 + (seed or 0)) % 256)
  end
  return table.concat(bytes)
end

-- Reverses each group of `width` bytes of a string.
local function turned(bytes, width)
  return (bytes:gsub(('.'):rep(width), string.reverse))
end

-- The integer that the bytes make, lowest byte first.
local function integer(bytes, signed)
  local negative = signed and bytes:byte(-1) >= 128
  local number = 0
  for n = #bytes, 1, -1 do
    number = number * 256 + (negative and 255 - bytes:byte(n) or bytes:byte(n))
  end
  return negative and -number - 1 or number
end

after_each(accessors.restore)

describe('string', function()
  it('sets the bytes of every class if their number fits, and returns them', function()
    accessors.each(function(_, class, width)
      local s = class()
      for length = 0, 33 do
        local bytes = noise(length, length)
        if length % width == 0 then
          assert.is_true(rawequal(s, s:string(bytes)))
          assert.equal(length / width, #s)
          assert.equal(bytes, s:string())
          assert.equal(bytes, s:string(nil, nil))
          assert.equal(bytes, s:string(1, #s))
        else
          local was, size = s:string(), #s
          support.fails(
            ("bad argument #1 to 'string' (%d bytes is not a multiple of the %d-byte element size (%s))"):format(
              length,
              width,
              torch.typename(s)
            ),
            function()
              s:string(bytes)
            end
          )
          assert.is_true(s:string() == was and #s == size)
        end
      end
      local long = noise(1000000)
      assert.is_true(s:string(long):string() == long)
      assert.is_true(s:string(2, 3) == long:sub(width + 1, 3 * width))
      assert.is_true(s:string(s:string(5, 8)):string() == long:sub(4 * width + 1, 8 * width))
    end)
  end)

  it('gives the elements that the bytes encode', function()
    accessors.each(function(T, class, width)
      if T ~= 'Half' and T ~= 'Float' and T ~= 'Double' then
        for seed = 0, 255 do
          local bytes = noise(width, seed)
          if T == 'Long' then
            bytes = bytes:sub(1, 6) .. (seed % 2 == 0 and '\0\0' or '\255\255') -- the integers that a Lua number can hold
          end
          assert.equal(integer(bytes, T ~= 'Byte'), class():string(bytes)[1])
        end
      end
    end)
    assert.same({ 1, -2, 0.5 }, torch.HalfStorage():string('\0\60\0\192\0\56'):totable())
    assert.same({ 1, -2 }, torch.FloatStorage():string('\0\0\128\63\0\0\0\192'):totable())
    assert.same({ 1, -2 }, torch.DoubleStorage():string('\0\0\0\0\0\0\240\63\0\0\0\0\0\0\0\192'):totable())
  end)

  it('takes one number as a position and two as a range', function()
    accessors.each(function(_, class, width)
      local s = class()
      local bytes = noise(5 * width)
      s:string(bytes)
      assert.equal(bytes:sub(width + 1, 3 * width), s:string(2, '3.9'))
      assert.equal(bytes:sub(3 * width + 1), s:string(4))
      assert.equal(s:sub(2):string(), s:string(2.9, nil))
      assert.equal('', s:string(6))
      assert.equal('', s:string(4, 3))
      for _, v in ipairs { {}, true, false, print, class(1), io.stdout } do
        support.fails("bad argument #1 to 'string' (string or number expected, got ", function()
          s:string(v)
        end)
        support.fails("bad argument #1 to 'string' (string or number expected, got ", function()
          s:string(v, 1)
        end)
        support.fails("bad argument #2 to 'string' (number expected, got ", function()
          s:string(1, v)
        end)
      end
      assert.equal(bytes, s:string())
    end)
  end)

  it('can be set on heap memory only, and read from any memory', function()
    local name = path 'f'
    accessors.each(function(_, class, width)
      local bytes = noise(4 * width)
      local s = class():string(bytes)
      support.spit(name, bytes)
      local fixed = class { filename = name, readonly = true }
      for _, other in ipairs { s:sub(1), class(4, s:data()), class(name), fixed } do
        assert.equal(bytes, other:string())
        for _, count in ipairs { 3, 4, 5 } do
          support.fails('not resizable', other.string, other, ('x'):rep(count * width))
        end
        assert.equal(bytes, other:string())
      end
      local copy = s:clone()
      s:free()
      support.fails('storage was freed', copy.string, s)
      support.fails('storage was freed', copy.string, s, 1, 2)
      support.fails('storage was freed', copy.string, s, bytes)
    end)
  end)

  -- Making the string may run finalizers. They change the size, write new bytes or free the storage.
  it('survives finalizers that resize or free the storage in between #process', function()
    local output = support.child(
      [[
      local torch = require 'torch'
      local due = require 'spec.support.due_collection'
      local ran = 0
      local function turn(T, change, ...)
        local s = torch[T .. 'Storage'](20000):fill(5)
        local old = s:string(...)
        due(function()
          ran = ran + 1
          change(s)
        end)
        local ok, got = pcall(s.string, s, ...)
        -- The string is either what it was before the finalizer or what it is after it.
        local after, new = pcall(s.string, s, ...)
        assert(ok and got == old or ok == after and got == new, got)
      end
      local changes = {
        function(s) s:resize(10) end,
        function(s) s:resize(60000):fill(6, 20001) end,
        function(s) s:free() torch.ByteStorage(160000):fill(77) end,
      }
      for _, T in ipairs { 'Byte', 'Int', 'Half', 'Double' } do
        for _, change in ipairs(changes) do
          for _ = 1, 5 do
            turn(T, change)
            turn(T, change, 1, 9)
          end
        end
      end
      assert(ran > 0)
      print 'done'
    ]],
      'timeout 120 ' .. support.interpreter
    )
    assert.equal('done', output)
  end)
end)

describe('rawcopy', function()
  it('copies the bytes of any class if there are equally many', function()
    accessors.each(function(_, class, width)
      for _, D in ipairs(types.TORCH7) do
        local other = torch[D .. 'Storage']
        for _, count in ipairs { 0, 8, 16, 24, 4096 } do
          local bytes = noise(count, width)
          local source = other():string(bytes)
          local s = class(count / width):fill(1)
          assert.is_true(rawequal(s, s:rawcopy(source)))
          assert.is_true(s:string() == bytes and source:string() == bytes)
        end
        local s = class(8):fill(3)
        local was = s:string()
        for _, count in ipairs { 0, 7, 9 } do
          local source = other(count * types.WIDTH[D] == 8 * width and count + 1 or count)
          -- The unit of the count in the message is not checked: bytes are compared, whatever the classes.
          support.fails("bad argument #1 to 'rawcopy' (length mismatch: ", function()
            s:rawcopy(source)
          end)
        end
        assert.equal(was, s:string())
      end
    end)
  end)

  it('copies overlapping parts as if the source had been read first', function()
    accessors.each(function(_, class, width)
      for size = 0, 7 do
        for to = 1, 8 - size do
          for from = 1, 8 - size do
            local bytes = noise(7 * width)
            local s = class():string(bytes)
            s:sub(to, to + size - 1):rawcopy(s:sub(from, from + size - 1))
            local moved = bytes:sub((from - 1) * width + 1, (from - 1 + size) * width)
            local expected = bytes:sub(1, (to - 1) * width) .. moved .. bytes:sub((to - 1 + size) * width + 1)
            assert.equal(expected, s:string())
          end
        end
      end
      -- The source and the target are views of other classes over the same memory.
      for _, D in ipairs(types.TORCH7) do
        local wide = types.WIDTH[D]
        local bytes = noise(64)
        local memory = torch.ByteStorage():string(bytes)
        local other = torch[D .. 'Storage'](64 / wide, memory:data())
        local this = class(64 / width, memory:data())
        other:sub(1, 32 / wide):rawcopy(this:sub(8 / width + 1, 40 / width))
        assert.equal(bytes:sub(9, 40) .. bytes:sub(33), memory:string())
        memory:string(bytes)
        other, this = torch[D .. 'Storage'](64 / wide, memory:data()), class(64 / width, memory:data())
        other:sub(16 / wide + 1, 48 / wide):rawcopy(this:sub(1, 32 / width))
        assert.equal(bytes:sub(1, 16) .. bytes:sub(1, 32) .. bytes:sub(49), memory:string())
      end
    end)
  end)

  it('refuses freed storages, other values and read-only maps', function()
    local name = path 'f'
    accessors.each(function(_, class)
      local bytes = noise(16)
      local s = class():string(bytes)
      for _, v in ipairs { 5, 'x', {}, true, print, io.stdout, class } do
        support.fails("bad argument #1 to 'rawcopy' (torch.*Storage expected, got ", function()
          s:rawcopy(v)
        end)
      end
      support.fails('torch.*Storage expected, got no value', s.rawcopy, s)
      local dead = s:clone()
      dead:free()
      support.fails('storage was freed', s.rawcopy, dead, s)
      support.fails('storage was freed', s.rawcopy, s, dead)
      support.spit(name, ('\1'):rep(16))
      local fixed = class { filename = name, readonly = true }
      support.fails('read-only: the storage is a read-only map', s.rawcopy, fixed, s)
      assert.equal(('\1'):rep(16), fixed:string())
      assert.equal(bytes, s:string())
      assert.equal(('\1'):rep(16), s:rawcopy(fixed):string())
    end)
  end)
end)

describe('byteswap', function()
  it('reverses the bytes of each element, or of each group of a given width', function()
    local widths = { { nil }, { 1, 1 }, { 2, 2 }, { 4, 4 }, { 8, 8 }, { '4', 4 }, { 2.9, 2 } }
    if support.luajit then
      widths[#widths + 1] = { require('ffi').new('int64_t', 8), 8 }
    end
    accessors.each(function(_, class, width)
      for size = 0, 9 do
        local bytes = noise(size * width)
        for _, entry in ipairs(widths) do
          local s = class():string(bytes)
          local by = entry[2] or width
          if #bytes % by == 0 then
            assert.is_true(rawequal(s, s:byteswap(entry[1])))
            assert.equal(turned(bytes, by), s:string())
            assert.equal(bytes, s:byteswap(entry[1]):string())
          else
            support.fails(
              ("bad argument #1 to 'byteswap' (%d bytes is not a multiple of the %d-byte word size"):format(#bytes, by),
              function()
                s:byteswap(entry[1])
              end
            )
            assert.equal(bytes, s:string())
          end
        end
      end
      local long = noise(100003 * width)
      assert.is_true(class():string(long):byteswap():string() == turned(long, width))
      -- Only the part that the view shows is swapped.
      local s = class():string(long)
      s:sub(3, 5):byteswap()
      local first, last = 2 * width, 5 * width
      assert.is_true(s:string() == long:sub(1, first) .. turned(long:sub(first + 1, last), width) .. long:sub(last + 1))
    end)
    assert.same({ 256, 512, -256 }, torch.ShortStorage({ 1, 2, 255 }):byteswap():totable())
  end)

  it('swaps elements at odd addresses', function()
    local name = path 'f'
    accessors.each(function(_, class, width)
      local bytes = noise(9 * width)
      support.spit(name, '<' .. bytes)
      local s = class { filename = name, offset = 1 }
      assert.equal(turned(bytes, width), s:byteswap():string())
    end)
  end)

  it('lists the valid widths in its error', function()
    accessors.each(function(_, class)
      local bytes = noise(48)
      local s = class():string(bytes)
      for _, by in ipairs { 0, 3, 5, 6, 7, 12, 16, 48, 2 ^ 40 } do
        local text = ('(a word has 1, 2, 4 or 8 bytes, got %.0f'):format(by)
        support.fails("bad argument #1 to 'byteswap' " .. text, function()
          s:byteswap(by)
        end)
      end
      for _, by in ipairs { -1, 0 / 0, 1 / 0, 2 ^ 63 } do
        support.fails(
          'a word has 1, 2, 4 or 8 bytes, got ' .. (by ~= by and 'nan' or by == 1 / 0 and 'inf' or ('%.0f'):format(by)),
          s.byteswap,
          s,
          by
        )
      end
      for _, by in ipairs { 'x', true, {}, class(1) } do
        support.fails('number expected, got ', s.byteswap, s, by)
      end
      assert.equal(bytes, s:string())
      local live = s:clone()
      s:free()
      support.fails('storage was freed', live.byteswap, s)
    end)
  end)
end)

describe('a compiled loop', function()
  it('gives the same result as an interpreted one', function()
    local function build()
      local function loop(class, fails_at)
        local s, other, seen = class(16), class { 1, 2, 3, 4, 5, 6, 7, 8 }, {}
        for n = 1, 300 do
          local i = n % 9 + 1
          s:fill(n % 100, i, i + n % 8)
          s:copy(other, i, n % 8 + 1, math.min(n % 5, 8 - n % 8))
          s:sub(-i - 3, -1 - n % 3)[1] = 7
          s:byteswap()
          if n == fails_at then
            s:fill(1, 0)
          end
          other:rawcopy(s:sub(i, i + 7))
          local first = s:totable(i, i + 3)[2]
          seen[n] = s:string(i, 16) .. (first == first and ('%.17g'):format(first) or 'nan')
        end
        return seen
      end
      return loop
    end
    local interpreted, compiled = build(), build()
    if jit then
      jit.off(interpreted, true)
    end
    accessors.each(function(T, class)
      for _, fails_at in ipairs { 0, 299 } do
        local a, b = { pcall(interpreted, class, fails_at) }, { pcall(compiled, class, fails_at) }
        assert.equal(fails_at == 0, a[1], a[2])
        assert.equal(a[1], b[1])
        if a[1] then
          assert.same(a[2], b[2], T)
        else
          assert.equal((a[2]:gsub('^.-: ', '')), (b[2]:gsub('^.-: ', '')))
        end
      end
    end)
  end)
end)

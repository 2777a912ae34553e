-- Elements of the complex classes: what is read, what is written and what is refused, through C and in compiled code.
local torch = require 'torch'
local accessors = require 'spec.support.accessors'
local complex = require 'spec.support.complex'
local support = require 'spec.support'
local types = require 'spec.support.types'
local same, show = complex.same, complex.show

local ffi = support.luajit and require 'ffi'

after_each(accessors.restore)

local REFUSED = 'an element of a torch.%sStorage is a complex number: '
  .. 'number, {re=, im=}, {re, im} or FFI complex expected, got %s'
local NAN, INF, NEGATIVE = 0 / 0, 1 / 0, -1 / (1 / 0)

local function literal(text)
  return assert(loadstring('return ' .. text))()
end

local function new(T, ...)
  return torch[T .. 'Storage'](...)
end

-- A number after conversion to the class of the parts.
local function rounded(T, number)
  return T == 'ComplexFloat' and torch.FloatStorage({ number })[1] or number
end

-- Values that an element can be set to, and the parts that it then has.
local function values()
  local list = {
    { 5, 5, 0 },
    { -2.5, -2.5, 0 },
    { '7', 7, 0 },
    { '0x10', 16, 0 },
    { ' 1e2 ', 100, 0 },
    { { 1, 2 }, 1, 2 },
    { { re = 3, im = -4 }, 3, -4 },
    { { im = 0.5, re = 0 }, 0, 0.5 },
    -- Named parts take precedence over anything else in the table.
    { { 9, 9, 9, re = 1, im = 8 }, 1, 8 },
    { { -0.125, 2 ^ 40, nothing = 1 }, -0.125, 2 ^ 40 },
    { setmetatable({ 6, 7 }, { __index = error }), 6, 7 },
  }
  if ffi then
    for _, value in ipairs {
      { ffi.new('complex', 1, 2), 1, 2 },
      { ffi.new('complex float', -3, 4), -3, 4 },
      { ffi.new('const complex', 5, 6), 5, 6 },
      { ffi.new('complex', 7), 7, 0 },
      { ffi.new('complex[2]', { { 1, 1 }, { 2, -2 } })[1], 2, -2 },
      { ffi.new('int64_t', -7), -7, 0 },
      { literal '0x20000000000000LL', 2 ^ 53, 0 },
      { literal '0xffffffffffffffffULL', 2 ^ 64, 0 },
    } do
      list[#list + 1] = value
    end
  end
  return list
end

-- Values that are not complex numbers, and what the error calls them.
local function strangers()
  local list = {
    { 'x', 'string' },
    { '', 'string' },
    { '1+2i', 'string' },
    { true, 'boolean' },
    { print, 'function' },
    { io.stdout, 'userdata' },
    { coroutine.create(function() end), 'thread' },
    { torch.ComplexFloatStorage { 1 }, 'torch.ComplexFloatStorage' },
    { {}, 'table' },
    { { 1 }, 'table' },
    { { 1, 2, 3 }, 'table' },
    { { '1', '2' }, 'table' },
    { { re = 1 }, 'table' },
    { { im = 1 }, 'table' },
    { { re = 1, 2 }, 'table' },
    { { re = 1, im = '2' }, 'table' },
    { { re = 1, im = {} }, 'table' },
    { { { 1, 2 }, 3 }, 'table' },
    -- Only raw fields of the table count: no metamethod runs.
    { setmetatable({}, { __index = { re = 1, im = 2 } }), 'table' },
    { setmetatable({}, { __index = error, __tostring = error, __len = error }), 'table' },
  }
  if ffi then
    for _, value in ipairs {
      ffi.typeof 'complex',
      ffi.typeof 'complex float',
      ffi.typeof 'int64_t',
      ffi.new 'complex[2]',
      ffi.new 'complex[1]' + 0,
      ffi.new('struct { double re, im; }', 1, 2),
      ffi.new('int32_t', 3),
      ffi.new('double', 3),
      ffi.cast('void *', 8),
    } do
      list[#list + 1] = { value, 'cdata' }
    end
  end
  return list
end

for _, T in ipairs(types.COMPLEX) do
  for _, access in ipairs(accessors.MODES) do
    describe(('an element of a %sStorage, by accessors %s,'):format(T, access), function()
      before_each(function()
        torch.accessors(access)
      end)

      it('is read with both parts, and as a copy', function()
        local s = new(T, { { 1, -2 }, { 3, 4 } })
        local z = s[1]
        assert.equal(ffi and 'cdata' or 'table', type(z))
        assert.is_true(not ffi or ffi.istype('complex', z))
        assert.equal('1 -2', show(z.re, z.im))
        if not ffi then
          assert.same({ re = 1, im = -2 }, z)
          z.re, z.im = 8, 9
          assert.equal('1 -2', show(s:get(1)))
        end
        s:set(1, 5, 6)
        assert.equal(ffi and '1 -2' or '8 9', show(z.re, z.im))
        local keys = { 2, 2.9, '2', ' 0x2 ' }
        if ffi then
          keys[5], keys[6] = ffi.new('int64_t', 2), ffi.new('uint64_t', 2)
        end
        for _, key in ipairs(keys) do
          assert.equal('3 4', show(s[key].re, s[key].im))
          assert.equal('3 4', show(s:get(key)))
        end
        assert.equal(2, select('#', s:get(1)))
        assert.is_nil(s.x)
        assert.is_nil(s[{}])
      end)

      it('takes each kind of value, by assignment, set, fill and tables', function()
        local list = values()
        local s, raw = new(T, 400), {}
        local function check(i, re, im)
          local value = list[(i - 1) % #list + 1]
          if not (same(re, value[2]) and same(im, value[3])) then
            error(('value %d is %s, not %s'):format((i - 1) % #list + 1, show(re, im), show(value[2], value[3])))
          end
        end
        local function check_all()
          for i = 1, 400 do
            check(i, s:get(i))
            local z = s[i]
            check(i, z.re, z.im)
          end
          for i, z in s:iter() do
            check(i, z.re, z.im)
          end
          for i, z in ipairs(s:totable()) do
            check(i, z.re, z.im)
          end
        end
        for i = 1, 400 do
          raw[i] = list[(i - 1) % #list + 1][1]
          s[i] = raw[i]
        end
        check_all()
        s:zero()
        for i = 1, 400 do
          assert.is_true(rawequal(s:set(i, raw[i]), s))
        end
        check_all()
        s:zero()
        for i = 1, 400 do
          s:fill(raw[i], i, i)
        end
        check_all()
        s = new(T, raw)
        check_all()
        -- Each value alone in its own loop, which is compiled for it.
        for index, value in ipairs(list) do
          local one = new(T, 1)
          for _ = 1, 120 do
            one[1] = value[1]
          end
          check(index, one:get(1))
          check(index, one:zero():fill(value[1]):get(1))
        end
      end)

      it('can be NaN, infinite or -0 in either part', function()
        local numbers = { NAN, INF, -INF, 0, NEGATIVE, 1, -1.5, 0.1, 1e-45, 5e-324, 3.4e38, -3.5e38, 1e300, 2 ^ 24 + 1 }
        local pairs_of_parts = {}
        for _, re in ipairs(numbers) do
          for _, im in ipairs(numbers) do
            pairs_of_parts[#pairs_of_parts + 1] = { re, im }
          end
        end
        local count = #pairs_of_parts
        local ways = { new(T, count), new(T, count), new(T, count), new(T, pairs_of_parts) }
        for i = 1, count do
          local p = pairs_of_parts[i]
          ways[1]:set(i, p[1], p[2])
          ways[2][i] = p
          ways[3][i] = ways[1][i]
        end
        local wrong = 0
        for _, s in ipairs(ways) do
          for i = 1, count do
            local re, im = s:get(i)
            local z = s[i]
            local r, m = rounded(T, pairs_of_parts[i][1]), rounded(T, pairs_of_parts[i][2])
            wrong = wrong + (same(re, r) and same(im, m) and same(z.re, r) and same(z.im, m) and 0 or 1)
          end
        end
        assert.equal(0, wrong)
        for _, number in ipairs(numbers) do
          local re, im = new(T, { number }):get(1)
          assert.is_true(same(rounded(T, number), re) and same(0, im))
        end
      end)

      it('that is NaN in memory is NaN for Lua, whatever its payload', function()
        local nans = T == 'ComplexFloat'
            and {
              '\1\0\128\127',
              '\255\255\255\255',
              '\0\0\192\255',
              '\77\33\160\127',
              '\255\255\255\127',
              '\0\0\250\255',
            }
          or {
            '\1\0\0\0\0\0\240\127',
            ('\255'):rep(8),
            '\0\0\0\0\0\0\248\255',
            '\5\0\0\0\0\0\250\255',
            '\1\2\3\4\251\255\255\255',
          }
        local one = T == 'ComplexFloat' and '\0\0\128\63' or '\0\0\0\0\0\0\240\63'
        local elements = {}
        for i = 1, 300 do
          local nan = nans[i % #nans + 1]
          elements[i] = i % 3 == 0 and nan .. one or i % 3 == 1 and one .. nan or nan .. nan
        end
        local s = torch[T .. 'Storage'].fromstring(table.concat(elements))
        local seen = 0
        local function check(x, is_one)
          assert.equal('number', type(x))
          assert.equal('number', type(x + 1))
          if is_one then
            assert.equal(1, x)
          else
            assert.is_true(x ~= x and x + 1 ~= x + 1)
            assert.is_false(pcall(rawset, {}, x, 1))
            assert.matches('nan', tostring(x), 1, true)
          end
          seen = seen + 1
        end
        local function both(i, re, im)
          check(re, i % 3 == 1)
          check(im, i % 3 == 0)
        end
        for i = 1, 300 do
          both(i, s:get(i))
          both(i, s[i].re, s[i].im)
        end
        for i, z in s:iter() do
          both(i, z.re, z.im)
        end
        for i, z in ipairs(s:totable()) do
          both(i, z.re, z.im)
        end
        for i, z in ipairs { s:unpack() } do
          both(i, z.re, z.im)
        end
        assert.equal(300 * 2 * 5, seen)
        -- A loop that was compiled for numbers meets a NaN.
        local t = new(T, 200):fill { 1, 1 }
        t:view('uint8'):sub(-8):copy(torch.ByteStorage.fromstring(nans[2]:rep(8):sub(1, 8)))
        local sum = 0
        for i = 1, 200 do
          local z = t[i]
          if i < 200 then
            sum = sum + z.re + z.im
          else
            check(z.im, false)
          end
        end
        assert.equal(398, sum)
      end)

      it('refuses values that are not complex numbers, and stays unchanged', function()
        local s = new(T, { { 1, 2 }, { 3, 4 } })
        local bytes = s:string()
        for _, stranger in ipairs(strangers()) do
          local value, got = stranger[1], stranger[2]
          local text = REFUSED:format(T, got)
          local function assign(v)
            s[2] = v
          end
          support.fails(text, assign, value)
          support.fails(text, s.set, s, 2, value)
          support.fails('(' .. text:match ': (number.*)', s.fill, s, value)
          support.fails('(' .. text:match ': (number.*)', s.fill, s, value, 1, 1)
          support.fails(
            '(element 2 of the table: number, {re=, im=}, {re, im} or FFI complex expected, got ' .. got,
            torch[T .. 'Storage'],
            { 1, value }
          )
          support.fails('(number expected, got ' .. got, s.set, s, 2, value, 1)
          support.fails('(number expected, got ' .. got, s.set, s, 2, 1, value)
          -- After many accepted values, so that compiled code meets the wrong one.
          local last = new(T, 1)
          support.fails(text, function()
            for i = 1, 200 do
              local v = 5
              if i == 200 then
                v = value
              end
              last[1] = v
            end
          end)
          assert.equal('5 0', show(last:get(1)))
        end
        support.fails(REFUSED:format(T, 'nil'), function()
          s[1] = nil
        end)
        support.fails(REFUSED:format(T, 'no value'), s.set, s, 1)
        support.fails('(number expected, got nil)', s.set, s, 1, nil, 2)
        support.fails('FFI complex expected, got no value)', s.fill, s)
        assert.equal(bytes, s:string())
        -- A pair together with an imaginary part, and numbers as strings and 64-bit integers.
        support.fails('number expected, got table', s.set, s, 1, { 1, 2 }, 3)
        assert.equal('5 16', show(s:set(1, '5', '0x10'):get(1)))
        if ffi then
          assert.equal('-5 7', show(s:set(1, ffi.new('int64_t', -5), ffi.new('uint64_t', 7)):get(1)))
          assert.is_nil(s[ffi.new('complex', 1)])
        end
        assert.equal('9 0', show(s:set(1, 9, nil):get(1)))
      end)
    end)
  end
end

-- The FFI passes a NaN to Lua with its bits from memory, and LuaJIT takes some of them for other values. One that is only
-- passed on, from an array or from `data()`, must not cause that. In a child process, because a failure may crash it.
describe('an FFI complex number that is NaN #process', function()
  for _, access in ipairs(ffi and accessors.MODES or {}) do
    for _, way in ipairs { 's[1] = z', 's:set(1, z)', 's:fill(z)', 's = class { z }' } do
      it(('is accepted by %s, whatever its payload, by accessors %s'):format(way, access), function()
        local source = [[
          local torch = require 'torch'
          torch.accessors '%s'
          for _, T in ipairs(require('spec.support.types').COMPLEX) do
            local class = torch[T .. 'Storage']
            local width = class.elementSize()
            local tops = T == 'ComplexFloat' and { '\255\255', '\223\255', '\208\255', '\200\255', '\192\255', '\192\127', '\129\127' }
              or { '\255\255', '\251\255', '\250\255', '\249\255', '\248\255', '\248\127', '\241\127' }
            for _, top in ipairs(tops) do
              local nan = ('\1'):rep(width / 2 - #top) .. top
              local z = class.fromstring(nan .. nan):data()[0]
              local s = class { { 1, 2 } }
              for _ = 1, 100 do
                %s
              end
              local re, im = s:get(1)
              assert(#s == 1 and type(re) == 'number' and re ~= re and im ~= im, T)
            end
          end
          print 'taken']]
        local output = support.run(source:format(access, way))
        assert.equal('taken', output:match '^[^\n]*')
      end)
    end
  end
end)

-- What plain Lua code could use against the host: FFI complex numbers with any bits, and values that look like them.
local torch = require 'torch'
local support = require 'spec.support'
local types = require 'spec.support.types'

local ffi = support.luajit and require 'ffi'

if ffi then
  local function in_each_mode(act)
    local before = torch.accessors()
    for _, mode in ipairs { 'c', 'ffi' } do
      torch.accessors(mode)
      local ok, message = pcall(act, mode)
      torch.accessors(before)
      assert(ok, message)
    end
  end

  describe('an FFI complex number of any bits', function()
    for _, T in ipairs(types.COMPLEX) do
      it('is stored with the standard NaN in a ' .. T, function()
        -- In a child process, because a failure would crash it.
        local script = ([[
          local torch, ffi = require 'torch', require 'ffi'
          local S = torch.CLASSStorage
          for _, mode in ipairs { 'c', 'ffi' } do
            torch.accessors(mode)
            for _, high in ipairs { 0xfff80001, 0xfffb0000, 0xfffc0000, 0xfffd8000, 0xffff0000, 0xffffffff, 0x7ff00001 } do
              for word = 1, 3, 2 do
                local u = ffi.new 'union { complex value; uint32_t words[4]; }'
                u.words[word], u.words[word - 1] = high, 0x41414140
                local s = S(3)
                for i = 1, 200 do
                  s[1] = u.value
                  s:fill(u.value, 2, 2)
                  s[3] = S { u.value }[1]
                  if i % 50 == 0 then
                    collectgarbage()
                  end
                end
                for i = 1, 3 do
                  local re, im = s:get(i)
                  local odd, other = re, im
                  if word == 3 then
                    odd, other = im, re
                  end
                  assert(type(odd) == 'number' and odd ~= odd and other == 0, i)
                end
              end
            end
          end
          print 'fine'
        ]]):gsub('CLASS', T)
        assert.equal('fine', (support.run(script)))
      end)

      it('leaves numbers for compiled reads of the same element, in a ' .. T, function()
        in_each_mode(function()
          local s = torch[T .. 'Storage'](2)
          local values = ffi.new 'union { complex value[300]; uint32_t words[1200]; }'
          values.words[298 * 4 + 3], values.words[298 * 4 + 2] = 0xfffd8000, 0x41414140
          -- Two variables for one index: the compiler does not know that they are equal.
          local function last_kind(j, k, count)
            local kind
            for i = 1, count do
              s[k] = 0
              local before = s[j].im
              s[k] = values.value[i]
              kind = type(s[j].im) .. type(before)
            end
            return kind
          end
          assert.equal('numbernumber', last_kind(1, 2, 200))
          assert.equal('numbernumber', last_kind(1, 1, 298))
        end)
      end)
    end

    it('keeps infinities, and the sign of zero', function()
      in_each_mode(function()
        for _, T in ipairs(types.COMPLEX) do
          local s = torch[T .. 'Storage'](2)
          for _, float in ipairs { 'complex', 'complex float' } do
            s[1] = ffi.new(float, math.huge, -math.huge)
            assert.same({ math.huge, -math.huge }, { s:get(1) })
            -- LuaJIT of 2022 reads the literal -0.0 as 0 on ARM64.
            s[1] = ffi.new(float, 0 / -1, 1)
            assert.equal(-math.huge, 1 / (s:get(1)))
          end
        end
      end)
    end)
  end)

  describe('a value that resembles an FFI complex number', function()
    it('is refused in the same way in both modes', function()
      local odd = {
        ffi.typeof 'complex',
        ffi.typeof 'complex float',
        ffi.typeof 'const complex',
        ffi.typeof 'volatile complex float',
        ffi.typeof 'complex &',
        ffi.typeof 'double[2]',
        ffi.typeof 'float[2]',
        ffi.new 'double[2]',
        ffi.new 'float[2]',
        ffi.new 'complex[1]',
        ffi.new 'double __attribute__((vector_size(16)))',
        ffi.typeof 'double __attribute__((vector_size(16)))',
      }
      in_each_mode(function()
        for _, T in ipairs(types.COMPLEX) do
          local s = torch[T .. 'Storage'](1)
          for _, value in ipairs(odd) do
            local ok, message = pcall(function()
              s[1] = value
            end)
            assert.is_false(ok, tostring(value))
            assert.truthy(message:find('or FFI complex expected, got cdata', 1, true), message)
            assert.is_false((pcall(s.fill, s, value)))
            assert.is_false((pcall(torch[T .. 'Storage'], { value })))
          end
          assert.same({ 0, 0 }, { s:get(1) })
        end
      end)
    end)

    it('is accepted if it is constant, or as large as the number of its type', function()
      in_each_mode(function()
        local s = torch.ComplexDoubleStorage(1)
        for _, name in ipairs { 'complex', 'const complex', 'complex float', 'const complex float' } do
          local ctype = ffi.typeof(name)
          local number = tonumber(ctype)
          for _, im in ipairs { 0, 1 } do
            s[1] = ctype(number, im)
            assert.same({ number, im }, { s:get(1) })
          end
          local field = ffi.new(ffi.typeof('struct { $ z; }', ctype), { ctype(3, 4) })
          s[1] = field.z
          assert.same({ 3, 4 }, { s:get(1) })
        end
      end)
    end)
  end)
end

describe('a complex storage that changes while its elements become Lua values', function()
  -- This runs when an object that is out of reach is collected.
  local function when_collected(act)
    if ffi then
      ffi.gc(ffi.new 'int[1]', act)
    else
      getmetatable(newproxy(true)).__gc = act
    end
  end

  local changes = {
    free = function(s)
      s:free()
    end,
    shrink = function(s)
      s:resize(2)
    end,
    grow = function(s)
      s:resize(100000)
    end,
  }
  local readings = {
    totable = function(s)
      return s:totable()
    end,
    unpack = function(s)
      return { s:unpack(1, 1500) }
    end,
    iter = function(s)
      local all = {}
      for i, z in s:iter() do
        all[i] = z
      end
      return all
    end,
  }
  for _, T in ipairs(types.COMPLEX) do
    for change, act in pairs(changes) do
      for reading, read in pairs(readings) do
        it(('is read or refused, and never reads freed memory: %s, %s, %s'):format(T, reading, change), function()
          for _ = 1, 20 do
            collectgarbage()
            local s = torch[T .. 'Storage'](1500):fill { 3, 4 }
            local changed = false
            for _ = 1, 3 do
              when_collected(function()
                if not changed then
                  changed = true
                  act(s)
                end
              end)
            end
            local ok, all = pcall(read, s)
            if ok then
              for i = 1, math.min(#all, 1500) do
                assert(all[i].re == 3 and all[i].im == 4)
              end
            else
              assert.equal('string', type(all))
            end
          end
        end)
      end
    end
  end
end)

describe('conversions of complex elements in overlapping memory', function()
  -- The expected result: each part converted from a separate copy.
  local function expected(T, source)
    local target = torch[T .. 'Storage'](#source)
    for i = 1, #source do
      local re, im = source:get(i)
      if T:find 'Complex' then
        target:set(i, re, im or 0)
      else
        target[i] = re
      end
    end
    return target
  end

  local REAL = { 'Byte', 'Short', 'Int', 'Long', 'Half', 'Float', 'Double', 'BFloat16' }
  for _, T in ipairs(types.COMPLEX) do
    for _, other in ipairs { 'ComplexFloat', 'ComplexDouble', unpack(REAL) } do
      it(('behave as if everything had been read first: %s and %s'):format(T, other), function()
        -- Sizes around that of the buffer of a copy, and addresses that are not aligned for elements.
        for _, size in ipairs { 1, 33, 1023, 2100 } do
          for _, starts in ipairs { { 0, 0 }, { 3, 0 }, { 0, 5 }, { 700, 64 }, { 64, 700 }, { 4096, 1 }, { 1, 999 } } do
            for _, pair in ipairs { { T, other }, { other, T } } do
              local bytes = torch.UntypedStorage(size * 16 + 5000)
              local source = bytes:view('torch.' .. pair[1] .. 'Storage', starts[1], size)
              local target = bytes:view('torch.' .. pair[2] .. 'Storage', starts[2], size)
              for i = 1, size do
                if pair[1]:find 'Complex' then
                  source:set(i, i % 128, -i)
                else
                  source[i] = i % 128
                end
              end
              local wanted = expected(pair[2], source:clone())
              local before = bytes:string()
              target:copy(source)
              assert.is_true(target:equal(wanted))
              local first, last = starts[2], starts[2] + #wanted:string()
              local after = bytes:string()
              assert.equal(before:sub(1, first), after:sub(1, first))
              assert.equal(before:sub(last + 1), after:sub(last + 1))
            end
          end
        end
      end)
    end
  end

  it('behave so between complex_float and complex_double', function()
    local s = torch.DoubleStorage { 1, -2.5 }
    assert.is_true(s:complex_float():equal(expected('ComplexFloat', s)))
    assert.is_true(s:complex_double():equal(expected('ComplexDouble', s)))
    local z = torch.ComplexDoubleStorage { { 0.1, -1e300 } }
    assert.is_true(z:complex_float():equal(expected('ComplexFloat', z)))
  end)
end)

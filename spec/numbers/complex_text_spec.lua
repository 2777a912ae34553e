-- Complex storages as text and in files: their printed text, the names of their classes, and that .t7 files cannot hold them.
local torch = require 'torch'
local accessors = require 'spec.support.accessors'
local support = require 'spec.support'
local types = require 'spec.support.types'

local path = support.temporary()
local NAN, INF, NEGATIVE = 0 / 0, 1 / 0, -1 / (1 / 0)

after_each(accessors.restore)
after_each(function()
  torch.setprintoptions { threshold = 1000, edgeitems = 10 }
  torch.setdefaulttensortype 'torch.DoubleTensor'
end)

-- Elements and the lines that are printed for them, without the last line.
local TEXTS = {
  { {}, '' },
  { { 0 }, ' 0 + 0i\n' },
  { { 1, { 0, -2 }, { -3, 4 } }, ' 1 + 0i\n 0 - 2i\n-3 + 4i\n' },
  { { { 10, -200 }, { -5, 6 } }, '  10 - 200i\n  -5 +   6i\n' },
  { { 1, { 0, -2.5 }, { -3, 4 } }, ' 1.0000 + 0.0000i\n 0.0000 - 2.5000i\n-3.0000 + 4.0000i\n' },
  { { { -7, 24 }, { 0, -2.5 } }, ' -7.0000 + 24.0000i\n  0.0000 -  2.5000i\n' },
  -- A wide range is printed with exponents. The imaginary part counts like the real one.
  { { { 2 ^ -10, 1 } }, ' 0.0010 + 1.0000i\n' },
  { { { 2 ^ -14, 1 } }, ' 6.1035e-05 + 1.0000e+00i\n' },
  { { { 0.5, -65536 } }, ' 5.0000e-01 - 6.5536e+04i\n' },
  { { { -65536, 0.5 } }, '-6.5536e+04 + 5.0000e-01i\n' },
  { { 2 ^ 40, { -1, -1 } }, ' 1.0995e+12 + 0.0000e+00i\n-1.0000e+00 - 1.0000e+00i\n' },
  -- Both parts share one factor.
  { { { 123456.5, -100000.5 } }, '100000 *\n 1.2346 - 1.0000i\n' },
  { { { 0.001953125, -0.00390625 } }, '0.001 *\n 1.9531 - 3.9062i\n', 'near' },
  { { { 0.25, 0.125 } }, ' 0.2500 + 0.1250i\n' },
  -- Infinities count as whole numbers.
  { { { INF, -INF } }, '        inf -        infi\n' },
  { { { 1, INF } }, ' 1.0000e+00 +        infi\n' },
}

local NANS = {
  { { { 1, -1 / INF } }, ' 1 - 0i\n' },
  { { { NAN, 1 } }, 'nan + 1.000000i\n' },
  { { { 1, NAN } }, '1.000000 + nani\n' },
  { { { -3, NAN }, { 0.5, -2 } }, '-3.000000 + nani\n0.500000 - 2.000000i\n' },
}

-- The rounding of ties and the sign of NaN depend on the interpreter.
local function tamed(text, how)
  if how == 'near' then
    text = text:gsub('3%.9063', '3.9062')
  end
  return (text:gsub('%-nan', 'nan'))
end

for _, access in ipairs(accessors.MODES) do
  for _, T in ipairs(types.COMPLEX) do
    local class = torch[T .. 'Storage']

    describe(('a %sStorage, by accessors %s,'):format(T, access), function()
      before_each(function()
        torch.accessors(access)
      end)

      it('is printed with both parts in one format, and a sign before the imaginary part', function()
        for _, list in ipairs { TEXTS, NANS } do
          for _, case in ipairs(list) do
            local s = class(case[1])
            local last = ('[torch.%sStorage of size %d]\n'):format(T, #s)
            assert.equal(case[2] .. last, tamed(tostring(s), case[3]))
            -- A view, and one at an odd byte, print the same.
            assert.equal(case[2] .. last, tamed(tostring(s:sub(1)), case[3]))
            local odd = torch.UntypedStorage('x' .. s:string()):view(class, 1, #s)
            assert.equal(case[2] .. last, tamed(tostring(odd), case[3]))
          end
        end
        if T == 'ComplexDouble' then
          local text = ' 1.0000e+200 + 1.0000e-200i\n[torch.ComplexDoubleStorage of size 1]\n'
          assert.equal(text, tostring(class { { 1e200, 1e-200 } }))
        end
      end)

      it('that is long is printed with its first and last elements', function()
        torch.setprintoptions { threshold = 4, edgeitems = 2 }
        local s = class { 1, 2, 3, 400.5, { 5, -6 }, 6, 7 }
        local ends = ' 1 + 0i\n 2 + 0i\n ...\n 6 + 0i\n 7 + 0i\n[torch.%sStorage of size 7]\n'
        assert.equal(ends:format(T), tostring(s))
        assert.equal((' 0 + 0i\n'):rep(4) .. ('[torch.%sStorage of size 4]\n'):format(T), tostring(class(4)))
        torch.setprintoptions { threshold = 1000, edgeitems = 10 }
        assert.equal(
          (' 1 - 1i\n'):rep(1000) .. ('[torch.%sStorage of size 1000]\n'):format(T),
          tostring(class(1000):fill { 1, -1 })
        )
        local long = tostring(class(1001):fill { 1, -1 })
        local half = (' 1 - 1i\n'):rep(10)
        assert.equal(('%s ...\n%s[torch.%sStorage of size 1001]\n'):format(half, half, T), long)
        torch.setprintoptions { threshold = math.huge }
        assert.equal(1002, select(2, tostring(class(1001)):gsub('\n', '')))
      end)

      it('has the name of its class', function()
        local s = class(1)
        local name = 'torch.' .. T .. 'Storage'
        assert.equal(name, torch.typename(s))
        assert.equal(name, torch.type(s))
        assert.is_true(torch.isStorage(s))
        assert.is_true(torch.isTypeOf(s, name))
        assert.is_true(torch.isTypeOf(s, class))
        assert.is_true(torch.isTypeOf(s, 'torch.Complex.*Storage'))
        assert.is_true(torch.isTypeOf(s, 'torch.*Storage'))
        assert.is_false(torch.isTypeOf(s, 'torch.FloatStorage'))
        assert.is_false(torch.isTypeOf(s, torch.DoubleStorage))
        assert.is_false(torch.isStorage(s[1]))
        assert.is_nil(torch.typename(s[1]))
        assert.equal(class, torch.getconstructortable(name))
        assert.equal(getmetatable(s), torch.getmetatable(name))
        assert.equal(name, torch.factory(name)():type())
        torch.setdefaulttensortype('torch.' .. T .. 'Tensor')
        assert.equal(class, torch.Storage)
        assert.equal('torch.' .. T .. 'Tensor', torch.getdefaulttensortype())
        assert.equal('1 2', support.joined({ torch.Storage({ { 1, 2 } }):get(1) }, ' '))
      end)

      it('can be given methods and operators', function()
        local metatable = torch.getmetatable('torch.' .. T .. 'Storage')
        local unm = metatable.__unm__
        function class:magnitude(i)
          local re, im = self:get(i)
          return math.sqrt(re * re + im * im)
        end
        function class.__unm__(s)
          local t = s:clone()
          for i = 1, #t do
            local re, im = t:get(i)
            t:set(i, -re, -im)
          end
          return t
        end
        local s = class { { 3, 4 } }
        assert.equal(5, s:magnitude(1))
        assert.equal('-3 -4', support.joined({ (-s):get(1) }, ' '))
        metatable.magnitude, metatable.__unm__ = nil, unm
        assert.is_false((pcall(function()
          return -s
        end)))
        assert.is_nil(s.magnitude)
      end)

      it('cannot be saved in a .t7 file, and an existing file stays', function()
        local name = 'torch.' .. T .. 'Storage'
        local refused = ('a %s%%s: Torch7 has no such class'):format(name)
        local s = class { { 1, 2 } }
        local target = path 'file.t7'
        for _, before in ipairs { false, 'what was there' } do
          if before then
            support.spit(target, before)
          end
          for _, mode in ipairs { 'binary', 'ascii' } do
            support.fails(refused:format '', torch.save, target, s, mode)
            support.fails(refused:format ' at inner.2', torch.save, target, { 7, inner = { 1, s } }, mode)
            support.fails(refused:format ' at 1', torch.save, target, { s:sub(1, 0) }, mode)
            support.fails(refused:format '', torch.serialize, s, mode)
            support.fails(refused:format ' at z', torch.serialize, { z = s }, mode)
            local record = torch.record { class = 'nn.X', version = 1, fields = { weight = s } }
            support.fails(('cannot save a %s at'):format(name), torch.serialize, record, mode)
            -- Storages that come before it do not leave half a file.
            support.fails(refused:format ' at 2', torch.save, target, { torch.ByteStorage(10000), s }, mode)
          end
          if before then
            assert.equal(before, support.slurp(target))
          else
            assert.is_nil(io.open(target))
          end
        end
        -- No other file is left either.
        assert.equal('file.t7', support.sh(("ls -A '%s'"):format(path())))
        -- An element is saved like any other value: as an FFI value, which is refused, or a table of numbers.
        if support.luajit then
          assert.is_false((pcall(torch.serialize, s[1])))
        else
          assert.same({ re = 1, im = 2 }, torch.deserialize(torch.serialize(s[1])))
        end
        -- Its bytes and its parts can be saved.
        local parts = torch.deserialize(torch.serialize(s:view(T == 'ComplexFloat' and 'float32' or 'float64')))
        assert.is_true(parts:view(class):equal(s))
      end)

      it('in a file is an object of an unknown class', function()
        local name = 'torch.' .. T .. 'Storage'
        local file = torch.serialize(torch.record { class = name, version = 1, fields = { x = 5 } })
        local loaded = torch.deserialize(file)
        assert.is_true(torch.isRecord(loaded))
        assert.same({ name, 5 }, { loaded.class, loaded.fields.x })
        -- One with elements, as Torch7 would have written it, is refused.
        local bytes = torch.serialize(torch.ByteStorage { 1, 2, 3 })
        local strange = bytes:gsub('\17%z%z%ztorch.ByteStorage', function()
          return string.char(#name) .. '\0\0\0' .. name
        end)
        assert.is_true(strange ~= bytes)
        assert.equal('string', type(support.failure(torch.deserialize, strange)))
      end)
    end)
  end
end

describe('a negative zero', function()
  it('is printed as -0 in the real part, and gives the imaginary part its sign', function()
    local s = torch.ComplexDoubleStorage { { NEGATIVE, NEGATIVE }, { 0.5, 0 } }
    local re, im = s:get(1)
    assert.is_true(1 / re < 0 and 1 / im < 0)
    assert.matches('^%-0%.0000 [+-] 0%.0000i\n 0%.5000 %+ 0%.0000i\n', tostring(s))
  end)
end)

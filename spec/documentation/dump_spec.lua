-- examples/dump.lua, run as by a user: its output, and its errors.
-- Interpreters: luajit, lua5.4
local torch = require 'torch'
local support = require 'spec.support'
local program = require 'spec.support.converter'
local types = require 'spec.support.types'

local dump, saved, tree, tensor, lines = program.dump, program.saved, program.tree, program.tensor, program.lines

describe('examples/dump.lua #process', function()
  setup(program.setup)
  teardown(program.teardown)

  describe('prints:', function()
    it('single values', function()
      assert.equal('nil\n', tree(nil))
      assert.equal('false\n', tree(false))
      assert.equal('-0.1\n', tree(-0.1))
      assert.equal('1e+300\n', tree(1e300))
      assert.equal('0.30000000000000004\n', tree(0.1 + 0.2))
      assert.equal('nan\n', tree(0 / 0))
      assert.equal('9007199254740991\n', tree(2 ^ 53 - 1))
      assert.equal("''\n", tree '')
      assert.equal('table, 0 entries\n', tree {})
    end)

    it('tables, with their keys in order: numbers, strings, booleans, objects', function()
      local object =
        { 'one', [10] = true, [-1.5] = 'x', b = 2, a = { 1, 2.5, 3 }, ['a b'] = {}, [true] = 1, [false] = 2 }
      object[torch.IntStorage { 7 }] = 'value'
      for _ = 1, 2 do
        assert.equal(
          lines(
            'table, 9 entries',
            "  [-1.5]: 'x'",
            "  [1]: 'one'",
            '  [10]: true',
            '  a: table, 3 entries: 1 2.5 3',
            "  ['a b']: table, 0 entries",
            '  b: 2',
            '  [false]: 2',
            '  [true]: 1',
            '  key 1: torch.IntStorage, 1 element, 4 bytes: 7',
            "  [key 1]: 'value'"
          ),
          tree(object)
        )
      end
    end)

    it('storages of every class', function()
      local values = { Byte = '255', Char = '-1', Half = '0.1', Float = '0.1', Double = '0.1', Long = '-1' }
      for _, T in ipairs(types.TORCH7) do
        local value = values[T] or '-3'
        local storage = torch[T .. 'Storage'] { tonumber(value), 0 }
        assert.equal(
          ('torch.%sStorage, 2 elements, %d bytes: %s 0\n'):format(T, 2 * types.WIDTH[T], value),
          tree(storage)
        )
      end
      assert.equal('torch.FloatStorage, 0 elements, 0 bytes\n', tree(torch.FloatStorage()))
      local long = torch.LongStorage.fromstring '\1\0\0\0\0\0\32\0\255\255\255\255\255\255\223\255\0\0\0\0\0\0\0\128'
      assert.equal(
        'torch.LongStorage, 3 elements, 24 bytes: 9007199254740993 -9007199254740993 -9223372036854775808\n',
        tree(long)
      )
      local edges = torch.FloatStorage { 1 / 0, -1 / 0, 0 / 0, 16777216, 1e30, 0.1 + 2 ^ -23 }
      assert.equal('torch.FloatStorage, 6 elements, 24 bytes: inf -inf nan 16777216 1e+30 0.10000012\n', tree(edges))
    end)

    it('tensors in row order, whatever their strides', function()
      local storage = torch.FloatStorage { 1, 2, 3, 4, 5, 6 }
      assert.equal(
        'torch.FloatTensor 2x3, 24 bytes: 1 2 3 4 5 6\n',
        tree(tensor('torch.FloatTensor', storage, { 2, 3 }, { 3, 1 }))
      )
      assert.equal(
        lines(
          'torch.FloatTensor 3x2, strides 1x3, 24 bytes: 1 4 2 5 3 6',
          '  storage: torch.FloatStorage, 6 elements, 24 bytes: 1 2 3 4 5 6'
        ),
        tree(tensor('torch.FloatTensor', storage, { 3, 2 }, { 1, 3 }))
      )
      assert.equal(
        lines(
          'torch.CudaTensor 2, strides 2, offset 3, 8 bytes: 3 5',
          '  storage: torch.FloatStorage, 6 elements, 24 bytes: 1 2 3 4 5 6'
        ),
        tree(tensor('torch.CudaTensor', storage, { 2 }, { 2 }, 3))
      )
      assert.equal('torch.FloatTensor 0, 0 bytes\n', tree(tensor('torch.FloatTensor', nil, {}, {})))
    end)

    it('objects, storages on a GPU, and functions', function()
      local object = torch.record {
        class = 'nn.Linear',
        version = 2,
        fields = {
          train = true,
          hook = torch.record {
            class = 'function',
            tag = 8,
            code = ('x'):rep(123),
            upvalues = { { name = 'n', value = 5 } },
          },
        },
      }
      assert.equal(
        lines(
          'nn.Linear version 2',
          '  hook: function, 123 bytes of code, 1 upvalue',
          '    [1]: table, 2 entries',
          "      name: 'n'",
          '      value: 5',
          '  train: true'
        ),
        tree(object)
      )
      local cuda = torch.record { class = 'torch.CudaStorage', version = 1, storage = torch.FloatStorage { 4 } }
      assert.equal(lines('torch.CudaStorage', '  storage: torch.FloatStorage, 1 element, 4 bytes: 4'), tree(cuda))
      assert.equal(
        lines('odd.Class', "  fields: 'text'"),
        tree(torch.record { class = 'odd.Class', version = 1, fields = 'text' })
      )
      local hostile = torch.record { class = 'a\27[2Jb', version = 1, fields = {} }
      assert.equal("'a\\027[2Jb'\n", tree(hostile))
    end)

    it('repeated objects by their number', function()
      local flat = torch.FloatStorage { 1, 2, 3, 4 }
      local model = {
        flat,
        a = tensor('torch.FloatTensor', flat, { 2 }, { 1 }, 1),
        b = tensor('torch.FloatTensor', flat, { 2 }, { 1 }, 3),
        once = { 'only' },
      }
      model.self, model.z = model, model.a
      assert.equal(
        lines(
          '#1 table, 6 entries',
          '  [1]: #2 torch.FloatStorage, 4 elements, 16 bytes: 1 2 3 4',
          '  a: #3 torch.FloatTensor 2, 8 bytes: 1 2',
          '    storage: -> #2',
          '  b: torch.FloatTensor 2, offset 3, 8 bytes: 3 4',
          '    storage: -> #2',
          '  once: table, 1 entry',
          "    [1]: 'only'",
          '  self: -> #1',
          '  z: -> #3'
        ),
        tree(model)
      )
    end)

    it('as many levels and values as requested', function()
      local object = { a = { b = { c = { 1, 2, 3 } } }, s = torch.IntStorage { 1, 2, 3 } }
      assert.equal('table, 2 entries ...\n', tree(object, '--depth', '0'))
      assert.equal(
        lines('table, 2 entries', '  a: table, 1 entry ...', '  s: torch.IntStorage, 3 elements, 12 bytes: 1 2 ...'),
        tree(object, '--depth', '1', '--values', '2')
      )
      assert.equal(
        lines(
          'table, 2 entries',
          '  a: table, 1 entry',
          '    b: table, 1 entry',
          '      c: table, 3 entries: 1 ...',
          '  s: torch.IntStorage, 3 elements, 12 bytes: 1 ...'
        ),
        tree(object, '--values', '1', '--depth', '3')
      )
      assert.equal('torch.IntStorage, 3 elements, 12 bytes: ...\n', tree(object.s, '--values', '0'))
      -- An object that was cut off is printed where it appears again.
      local shared = { 'x' }
      assert.equal(
        lines('table, 2 entries', '  a: table, 1 entry ...', '  b: #1 table, 1 entry ...'),
        tree({ a = { shared }, b = shared }, '--depth', '1')
      )
    end)

    it('text so that a terminal can show it, and long text in part', function()
      assert.equal("'a\\010\\000\\027[2J\\\\ \\255\\194\\133'\n", tree 'a\n\0\27[2J\\ \255\194\133')
      assert.equal("'\195\164\226\130\172\240\159\152\128'\n", tree '\195\164\226\130\172\240\159\152\128')
      assert.equal("'" .. ('x'):rep(60) .. "'\n", tree(('x'):rep(60)))
      assert.equal("'" .. ('x'):rep(60) .. "...' (61 bytes)\n", tree(('x'):rep(61)))
      assert.equal(
        "'" .. ('x'):rep(58) .. "...' (100061 bytes)\n",
        tree(('x'):rep(58) .. '\226\130\172' .. ('y'):rep(100000))
      )
      assert.equal(
        lines('table, 1 entry', "  ['" .. ('k'):rep(60) .. "...' (99 bytes)]: 1"),
        tree { [('k'):rep(99)] = 1 }
      )
    end)

    it('objects that nest deeper than the stack of Lua', function()
      local object = {}
      for _ = 1, 30000 do
        object = { object }
      end
      local output = tree(object, '--depth', '3')
      assert.equal(
        lines('table, 1 entry', '  [1]: table, 1 entry', '    [1]: table, 1 entry', '      [1]: table, 1 entry ...'),
        output
      )
    end)

    it('the format of the file', function()
      local name = saved(torch.LongStorage { 1, -2 }, 'ascii')
      assert.equal(name .. ': t7, ascii\ntorch.LongStorage, 2 elements, 16 bytes: 1 -2\n', (dump(name)))
      name = saved(torch.LongStorage { 1, -2 }, 'b32')
      assert.equal(
        name .. ': t7, binary, 4-byte longs, little endian\ntorch.LongStorage, 2 elements, 16 bytes: 1 -2\n',
        (dump(name))
      )
      -- The bytes that a machine of the other byte order writes for an IntStorage of 2 elements.
      support.spit(name, '\0\0\0\4\0\0\0\1\0\0\0\3V 1\0\0\0\16torch.IntStorage\0\0\0\0\0\0\0\2\0\0\0\5\255\255\255\250')
      assert.equal(
        name .. ': t7, binary, 8-byte longs, big endian\ntorch.IntStorage, 2 elements, 8 bytes: 5 -6\n',
        (dump(name))
      )
    end)
  end)

  describe('reports in one line:', function()
    local function fails(expected, status, ...)
      local _, errors, got = dump(...)
      assert.equal(status, got, errors)
      assert.is_truthy(errors:find '^dump: [^\n]+\n$', errors)
      assert.is_truthy(errors:find(expected, 1, true), errors)
    end

    it('errors in a file', function()
      fails('No such file', 1, program.path 'no such 100% file')
      fails('Is a directory', 1, program.directory)
      fails('README.md is not a .t7, safetensors, npy or npz file', 1, 'README.md')
      local name = saved { layer = torch.IntStorage(100) }
      support.spit(name, support.slurp(name):sub(1, -2))
      fails('layer', 1, name)
      fails('bytes are left', 1, name)
    end)

    it('wrong arguments', function()
      local name = saved(1)
      fails('give a file', 2)
      fails('one file at a time', 2, name, name)
      fails('there is no option --what', 2, name, '--what')
      fails('--depth needs a whole number from 0 up, got -1', 2, name, '--depth', '-1')
      fails('--values needs a whole number from 0 up, got x', 2, name, '--values', 'x')
      fails('--values needs a whole number from 0 up, got nothing', 2, name, '--values')
      fails('--export needs a folder', 2, name, '--export')
      fails('--csv needs the name of a tensor', 2, name, '--csv')
      fails('--bin goes with --export', 2, name, '--bin')
      fails('give --npy or --bin', 2, name, '--export', program.directory, '--npy', '--bin')
      fails('give --csv or --export', 2, name, '--export', program.directory, '--csv', 'x')
    end)

    it('files that cannot be written', function()
      local name = saved { x = torch.IntStorage { 1 } }
      fails(name .. '/x.bin: Not a directory', 1, name, '--export', name, '--bin')
      fails(name .. '/x.npy', 1, name, '--export', name)
    end)

    it('output that cannot be written', function()
      local name = saved { x = torch.IntStorage(100000) }
      for _, option in ipairs { '', '--csv x' } do
        local command = ('%s examples/dump.lua %s %s 2>&1 >/dev/full'):format(support.interpreter, name, option)
        local output, status = support.execute(command)
        assert.equal('dump: cannot write the output: No space left on device', output)
        assert.equal(1, status)
      end
    end)
  end)

  it('explains itself', function()
    local output, errors, status = dump '--help'
    assert.is_truthy(output:find '^dump.lua FILE %[OPTIONS%] prints what is in a .t7,')
    assert.same({ '', 0 }, { errors, status })
  end)
end)

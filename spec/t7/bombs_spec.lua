-- .t7 files that claim to hold much more than they do: time and memory stay small multiples of the file's size.
-- Interpreters: luajit, lua5.4
require 'torch' -- if the library is not built, the error appears here and not in every child
local child = require 'spec.support.hostile_t7.child'

-- Files of megabytes that are made on the spot. `build` returns the bytes. The peak may grow by `factor` times their number,
-- plus the base memory of a process.
local function bomb(name, factor, build, expected)
  it(name .. ' #process', function()
    child(
      ([[
        local f = require('spec.support.made').formats.b64
        local made = require 'spec.support.made'
        local function build() %s end
        local bytes = build()
        collectgarbage()
        collectgarbage()
        local scratch = os.tmpname()
        support.spit(scratch, bytes)
        local before, started = peak(), os.clock()
        local ok, object = calm(torch.deserialize, bytes, 'binary')
        assert(%s, tostring(object))
        local grown = peak() - before
        assert(grown < %d * #bytes + 16e6, ('%%.0f bytes for a file of %%d'):format(grown, #bytes))
        object = nil
        collectgarbage()
        calm(torch.load, scratch)
        calm(torch.load, scratch, { mmap = true, info = true })
        os.remove(scratch)
        local seconds = os.clock() - started
        assert(seconds < 10, seconds .. ' seconds')
      ]]):format(build, expected or 'not ok', factor),
      60
    )
  end)
end

describe('a bomb', function()
  bomb(
    'of tables that each claim all remaining bytes',
    24,
    [[
      local parts, depth = {}, 20000
      for i = 1, depth do
        parts[i] = f.int(made.TABLE) .. f.int(i) .. f.int((depth - i) * 24 / 8) .. f.number(1)
      end
      return table.concat(parts)
    ]]
  )
  bomb(
    'of tables side by side that claim all remaining bytes',
    24,
    [[
      local parts, count = {}, 20000
      for i = 1, count do
        parts[i] = f.number(i) .. f.int(made.TABLE) .. f.int(i + 1) .. f.int(0)
      end
      return f.int(made.TABLE) .. f.int(1) .. f.int(count * 24 / 8) .. table.concat(parts)
    ]]
  )
  bomb(
    'of deeply nested tables',
    24,
    [[
      local parts = {}
      for i = 1, 1e5 do
        parts[i] = f.int(made.TABLE) .. f.int(i) .. f.int(1) .. f.boolean(true)
      end
      return table.concat(parts) .. f.null
    ]],
    'ok'
  )
  bomb(
    'of deeply nested tables as keys',
    24,
    [[
      local parts = {}
      for i = 1, 1e5 do
        parts[i] = f.int(made.TABLE) .. f.int(i) .. f.int(1)
      end
      return table.concat(parts) .. f.null
    ]]
  )
  bomb(
    'of deeply nested objects',
    40,
    [[
      local parts = {}
      for i = 1, 4e4 do
        parts[i] = f.head(i, 'a')
      end
      return table.concat(parts) .. f.null
    ]],
    'ok'
  )
  bomb(
    'of deeply nested functions',
    40,
    [[
      local parts = {}
      for i = 1, 4e4 do
        parts[i] = f.int(8) .. f.int(i) .. f.bytes 'x'
      end
      return table.concat(parts) .. f.null
    ]],
    'true'
  )
  bomb(
    'of deeply nested tensors in the position of storages',
    24,
    [[
      local parts = {}
      for i = 1, 4e4 do
        parts[i] = f.head(i, 'torch.IntTensor') .. f.int(0) .. f.long(1)
      end
      return table.concat(parts) .. f.null
    ]]
  )
  bomb(
    'of references that make a tree of 2^60 leaves',
    64,
    [[
      local bytes = f.pairs(61, {})
      for i = 60, 1, -1 do
        bytes = f.table(i, { bytes, f.reference(made.TABLE, i + 1) })
      end
      return bytes
    ]],
    'ok'
  )
  bomb(
    'of references with large indices',
    24,
    [[
      local parts = {}
      for i = 1, 4e4 do
        parts[i] = f.number(i) .. f.int(made.TABLE) .. f.int(2 ^ 31 - i * 50000) .. f.int(0)
      end
      return f.int(made.TABLE) .. f.int(1) .. f.int(4e4) .. table.concat(parts)
    ]],
    'ok'
  )
  bomb(
    'of empty tables',
    24,
    [[
      local parts = {}
      for i = 1, 4e4 do
        parts[i] = f.number(i) .. f.int(made.TABLE) .. f.int(i + 1) .. f.int(0)
      end
      return f.int(made.TABLE) .. f.int(1) .. f.int(4e4) .. table.concat(parts)
    ]],
    'ok'
  )
  bomb(
    'of empty storages',
    24,
    [[
      local parts = {}
      for i = 1, 3e4 do
        parts[i] = f.number(i) .. f.storage(i + 1, 'Byte', {})
      end
      return f.int(made.TABLE) .. f.int(1) .. f.int(3e4) .. table.concat(parts)
    ]],
    'ok'
  )
  bomb(
    'of tensors without dimensions',
    24,
    [[
      local parts = {}
      for i = 1, 3e4 do
        parts[i] = f.number(i) .. f.tensor(i + 1, 'torch.IntTensor', {}, {}, 1, f.null)
      end
      return f.int(made.TABLE) .. f.int(1) .. f.int(3e4) .. table.concat(parts)
    ]],
    'ok'
  )
  bomb(
    'of a tensor with a million dimensions',
    24,
    [[
      local ones = ('\1\0\0\0\0\0\0\0'):rep(1e6)
      return f.head(1, 'torch.IntTensor') .. f.int(1e6) .. ones .. ones .. f.long(1) .. f.storage(2, 'Int', { 1 })
    ]]
  )
  bomb(
    'of a truncated string of megabytes',
    4,
    [[
      return f.int(made.STRING) .. f.int(2 ^ 24 + 1) .. ('x'):rep(2 ^ 24)
    ]]
  )
  bomb(
    'of a class name of megabytes',
    8,
    [[
      return f.head(1, ('n'):rep(2 ^ 23)) .. f.null
    ]],
    'true'
  )
  bomb(
    'of keys of megabytes that appear in an error',
    8,
    [[
      return f.pairs(1, { f.string(('k'):rep(2 ^ 23)), f.pairs(2, { f.string(('k'):rep(2 ^ 23)), '\9\0\0\0' }) })
    ]]
  )
end)

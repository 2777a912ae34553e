-- Hostile .t7 files give an error or an object, never a crash, a hang, or more memory than a small multiple of the file's size.
-- Each runs in its own process with limited memory.
-- Interpreters: luajit, lua5.4
local cases = require 'spec.support.hostile_t7.cases'
local made = require 'spec.support.made'
local support = require 'spec.support'
require 'torch' -- if the library is not built, the error appears here and not in every child
local child = require 'spec.support.hostile_t7.child'

describe('the hostile files', function()
  it('are what spec/support/hostile_t7/make.lua writes', function()
    local count = 0
    for _, case in ipairs(cases) do
      for _, format in ipairs(cases.FORMATS) do
        local bytes = case.build(made.formats[format])
        if bytes then
          count = count + 1
          assert.equal(bytes, support.slurp(cases.path(case.name, format)), case.name)
        end
      end
    end
    assert.equal(count, tonumber((support.sh 'ls spec/support/hostile_t7/*.t7 | wc -l')))
    assert.is_true(count > 250)
  end)

  for _, format in ipairs(made.NAMES) do
    it('are refused, or loaded if they are valid: ' .. format .. ' #process', function()
      child(([[
        local cases = require 'spec.support.hostile_t7.cases'
        local format = %q
        local f = require('spec.support.made').formats[format]
        local told = ({ b64 = 'binary', b32 = 'b32', ascii = 'ascii' })[format]
        local wrong = {}
        for _, case in ipairs(cases) do
          local fits, bytes = pcall(case.build, f)
          if not fits then
            assert(format:find '32' and bytes:find 'does not fit', bytes)
          elseif bytes then
            local ok, message
            if told then ok, message = calm(torch.deserialize, bytes, told) else ok, message = calm(torch.deserialize, bytes) end
            if case.refused and ok then
              wrong[#wrong + 1] = case.name .. ' is loaded'
            elseif case.refused and not message:find(case.refused) then
              wrong[#wrong + 1] = case.name .. ' has no position: ' .. message
            elseif case.refused == false and not ok then
              wrong[#wrong + 1] = case.name .. ' is refused: ' .. message
            end
            if ok then use(message) end
          end
        end
        if #wrong > 0 then print(table.concat(wrong, '\n')) end
      ]]):format(format))
    end)
  end

  it('do no harm in any mode, from files or from maps #process', function()
    child [[
      local cases = require 'spec.support.hostile_t7.cases'
      collectgarbage()
      local before, count = peak(), 0
      for _, case in ipairs(cases) do
        for _, format in ipairs(cases.FORMATS) do
          local name = cases.path(case.name, format)
          if io.open(name) then
            every_way(support.slurp(name), name)
            count = count + 1
          end
        end
      end
      assert(count > 250)
      assert(rawget(_G, 'hostile_t7_ran') == nil)
      local grown = peak() - before
      assert(grown < 32e6, ('%.0f bytes more'):format(grown))
    ]]
  end)
end)

-- All golden files, as { name, mode, bytes }.
local GOLDEN = [[
  local golden = {}
  for name in support.sh('ls spec/support/golden/*.t7'):gmatch '[^\n]+' do
    local mode = name:find 'long_size4' and 'b32' or name:find 'ascii' and 'ascii' or 'binary'
    golden[#golden + 1] = { name = name, mode = mode, bytes = support.slurp(name) }
  end
  assert(#golden > 70)
  collectgarbage()
  local before = peak()
  local scratch = os.tmpname()
]]
local GOLDEN_END = [[
  os.remove(scratch)
  local grown = peak() - before
  assert(grown < 64e6, ('%.0f bytes more'):format(grown))
]]

describe('every golden file', function()
  it('truncated at any byte is an error in its mode, and does no harm in other modes #process', function()
    child(GOLDEN .. [[
      local tree = require 'spec.support.tree'
      for _, file in ipairs(support.some(3, golden)) do
        for cut = 0, #file.bytes - 1 do
          local bytes = file.bytes:sub(1, cut)
          for _, mode in ipairs(MODES) do
            local ok, object = calm(torch.deserialize, bytes, mode or nil)
            if mode == file.mode then
              -- Text without its last newline, or with fewer digits in its last number, is complete.
              local sound = mode == 'ascii' and (file.bytes:sub(cut + 1):find '^[%d.e+-]*\n?$')
              assert(not ok or sound, file.name .. ' cut at ' .. cut)
              assert(ok or object:find 'at byte %d+', object)
            end
          end
          if file.mode ~= 'ascii' then
            support.spit(scratch, bytes)
            local ok = calm(torch.load, scratch, { mode = file.mode, mmap = true })
            assert(not ok, file.name .. ' cut at ' .. cut)
          end
        end
      end
    ]] .. GOLDEN_END)
  end)

  it('with any byte changed does no harm #process', function()
    child(GOLDEN .. [[
      local tree = require 'spec.support.tree'
      local loaded = 0
      for _, file in ipairs(support.some(3, golden)) do
        for index = 1, #file.bytes do
          for _, value in ipairs { '\0', '\1', '\127', '\255' } do
            local bytes = file.bytes:sub(1, index - 1) .. value .. file.bytes:sub(index + 1)
            calm(torch.deserialize, bytes)
            local ok, object = calm(torch.deserialize, bytes, file.mode)
            if ok then
              loaded = loaded + 1
              use(object)
            end
          end
        end
      end
      assert(loaded > 500)
    ]] .. GOLDEN_END)
  end)

  it('with any byte removed or inserted does no harm #process', function()
    child(GOLDEN .. [[
      for _, file in ipairs(support.some(3, golden)) do
        for index = 1, #file.bytes do
          calm(torch.deserialize, file.bytes:sub(1, index - 1) .. file.bytes:sub(index + 1), file.mode)
          calm(torch.deserialize, file.bytes:sub(1, index) .. '\0' .. file.bytes:sub(index + 1), file.mode)
        end
      end
    ]] .. GOLDEN_END)
  end)
end)

describe('random damage', function()
  it('of objects of all kinds does no harm #process', function()
    child [[
      local made = require 'spec.support.made'
      local seed = 20240607
      local function dice(n)
        seed = (seed * 16807) % 2147483647
        return seed % n
      end
      local SPECIAL = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 127, 128, 254, 255 }
      local samples = {}
      for i, name in ipairs(made.NAMES) do
        local f = made.formats[name]
        local tensor = f.tensor(3, 'torch.FloatTensor', { 2, 3 }, { 3, 1 }, 1, f.storage(4, 'Float', { 1, 2, 3, 4, 5, 6 }))
        local linear = f.head(5, 'nn.Linear') .. f.pairs(6, { f.string 'weight', f.reference(4, 3), f.string 'gradInput', tensor })
        local code = f.code(8, 7, 'code', f.pairs(8, { f.number(1), f.boolean(true) })) .. f.null
        local cuda = f.head(9, 'torch.CudaLongStorage') .. f.long(2) .. f.elements('Long', { 1, 2 })
        samples[i] = f.table(1, { f.pairs(2, {}), tensor, linear, code, cuda, f.code(6, 0, 'x', f.null), f.storage(10, 'Half', { 1 }) })
      end
      local told = { 'b64', 'b32', 'ascii' }
      for round = 1, 20000 do
        local index = 1 + dice(#samples)
        local bytes = samples[index]
        for _ = 1, 1 + dice(4) do
          local at, value = 1 + dice(#bytes), string.char(SPECIAL[1 + dice(#SPECIAL)])
          bytes = bytes:sub(1, at - 1) .. value .. bytes:sub(at + 1)
        end
        local ok, object = calm(torch.deserialize, bytes, dice(2) == 0 and told[index] or nil)
        if ok and dice(4) == 0 then use(object) end
      end
      assert(peak() < 200e6)
    ]]
  end)
end)

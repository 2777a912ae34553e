-- The calls of spec/picking/golden/making.tsv, whose results Torch7 has given, and where this library differs.
local torch = require 'torch'
local support = require 'spec.support'

-- What this library gives instead: the class, sizes and elements, or the text of the error. Errors have other words.
local OURS = {
  ['torch.zeros(0)'] = { 'DoubleTensor', '0', '' }, -- a size of 0 is a size
  ['torch.ones(2,-1)'] = 'size -1 is not allowed',
  ['torch.zeros(torch.IntTensor(),2,2)'] = 'torch.IntTensor.zeros(...) makes one of this class',
  ['torch.range(torch.IntTensor(),0,7,2)'] = 'torch.IntTensor.range(...) makes one of this class',
  ['torch.range(torch.LongTensor(),1,3)'] = 'torch.LongTensor.range(...) makes one of this class',
  ['torch.linspace(0,1,0)'] = { 'DoubleTensor', '0', '' },
  ['torch.cat(torch.DoubleTensor{1,2},torch.DoubleTensor{3},4)'] = 'tensors that are joined along dimension 4',
}

-- The text of each error.
local ERRORS = {
  ['torch.zeros()'] = 'zeros needs sizes',
  ['torch.range(5,1)'] = 'steps of 1 do not lead from 5 to 1',
  ['torch.range(1,5,-1)'] = 'steps of -1 do not lead from 1 to 5',
  ['torch.range(0,10,0)'] = 'the step is 0',
  ['torch.linspace(0,1,1)'] = '1 number cannot be both 0 and 1',
  ['torch.cat(torch.DoubleTensor{1,2},torch.FloatTensor{3})'] = 'torch.DoubleTensor expected, got torch.FloatTensor',
  ['torch.cat({})'] = 'the list is empty',
  ['torch.cat(torch.DoubleTensor{{1,2}},torch.DoubleTensor{{3}},1)'] = 'the first has 1 x 2, and this one 1 x 1',
  ['torch.cat(torch.DoubleTensor{1,2},torch.DoubleTensor{3},0)'] = 'dimension 0 is out of range',
  ['torch.DoubleTensor{{1,2},{3,4}}:index(1,torch.LongTensor{3})'] = 'index 3 is out of range',
}

local function evaluate(call)
  local f = assert((loadstring or load)('local torch = ... return ' .. call))
  return pcall(f, torch)
end

describe('a call that Torch7 has answered', function()
  for line in support.slurp('spec/picking/golden/making.tsv'):gmatch '[^\n]+' do
    local call, class, sizes, elements = line:match '^([^#\t]+)\t([^\t]*)\t([^\t]*)\t?([^\t]*)$'
    if call then
      it(call, function()
        local done, x = evaluate(call)
        local ours = OURS[call]
        if type(ours) == 'string' or class == 'error' and not ours then
          assert.is_false(done)
          assert.is_truthy(tostring(x):find(ours or assert(ERRORS[call]), 1, true), x)
          return
        end
        assert.is_true(done, x)
        if ours then
          class, sizes, elements = unpack(ours)
        end
        assert.equal('torch.' .. class, x:type())
        assert.equal(sizes, support.joined(x:size():totable(), 'x'))
        local texts = {}
        for i, v in ipairs(x:contiguous():view(-1):totable()) do
          texts[i] = ('%.17g'):format(v)
        end
        assert.equal(elements, table.concat(texts, ' '))
      end)
    end
  end
end)

-- examples/weights.lua, run as by a user: the weights of its own model, and of files.
-- Interpreters: luajit, lua5.4
local torch = require 'torch'
local support = require 'spec.support'

local function run(arguments)
  return support.execute(('%s examples/weights.lua %s'):format(support.interpreter, arguments or ''))
end

describe('examples/weights.lua #process', function()
  it('prints the weights of a small model that it makes itself', function()
    local output, status = run()
    assert.equal(
      [[
modules.1.bias: torch.FloatTensor of 4: 1.625 1.75 1.875 2
modules.1.output: torch.FloatTensor of 0
modules.1.weight: torch.FloatTensor of 4 x 3: 0.125 0.25 0.375 0.5 ...
modules.2.output: torch.FloatTensor of 0
modules.3.bias: torch.FloatTensor of 2: 3.125 3.25
modules.3.output: torch.FloatTensor of 0
modules.3.weight: torch.FloatTensor of 2 x 4: 2.125 2.25 2.375 2.5 ...
7 tensors with 26 elements]],
      output
    )
    assert.equal(0, status)
  end)

  it('prints the tensors of a file, each once, and those of CUDA', function()
    local path = support.temporary()
    local name = path 'model.t7'
    local s = torch.DoubleStorage { 1, 2, 3, 4, 5, 6 }
    local x = s:view(2, 3)
    local model = { 5, 'text', x, { x:t(), [true] = x }, name = x, storage = s }
    model.cuda =
      torch.record { class = 'torch.CudaDoubleTensor', storage = s, size = { 2 }, stride = { -3 }, offset = 5 }
    model.self = model
    torch.save(name, model)
    assert.equal(
      [[
3: torch.DoubleTensor of 2 x 3: 1 2 3 4 ...
4.1: torch.DoubleTensor of 3 x 2: 1 4 2 5 ...
cuda: torch.CudaDoubleTensor of 2: 5 2
3 tensors with 14 elements]],
      (run(name))
    )
    torch.save(name, torch.IntStorage({ 7 }):view(1), 'ascii')
    assert.equal('torch.IntTensor of 1: 7\n1 tensor with 1 elements', (run(name)))
  end)

  it('reports a file that it cannot read', function()
    local output, status = run 'README.md'
    assert.matches('this is not a .t7 file', output, 1, true)
    assert.equal(1, status)
  end)
end)

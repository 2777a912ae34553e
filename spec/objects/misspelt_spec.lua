-- Names that are looked up in the table `torch` and are not there: a misspelt class is an error, and any other name is nil.
local torch = require 'torch'
local support = require 'spec.support'
local types = require 'spec.support.types'

-- Names that other libraries, later versions of them, or programs put there, or test for. Some are near the names of our classes.
local OTHERS = [[
  CudaTensor CudaStorage CudaByteTensor CudaCharTensor CudaShortTensor CudaIntTensor CudaLongTensor CudaDoubleTensor CudaHalfTensor
  CudaFloatTensor CudaHalfStorage CudaDoubleStorage ClTensor ClStorage
  QInt8Storage QUInt8Storage QInt32Storage QUInt4x2Storage QUInt2x4Storage TypedStorage SparseTensor UntypedTensor
  CharTensorX FloatTensors IntStorage2 XFloatTensor MyFloatStorage HFloatTensor Float16Storage Float16Tensor Int32Storage UInt8Tensor
  Int8Tensor Int8Storage Float8Tensor Float8Storage Float8_e8m0fnuTensor Float4_e2m1fn_x2Tensor ComplexHalfStorage
  Tester TestSuite Timer Generator File DiskFile PipeFile MemoryFile CmdLine Allocator
  rand randn add mul cmul dot mm mv sum mean max min sort abs sqrt exp log sin floor clamp eye diag
  nn optim image cuda cutorch backends float float32 int64 size Size dtype device complex Complex storage tensor from_file
  F Fl Float FloatT Storages Tensors f s
]]

-- Every name with one slip: a letter too few, too many or wrong, or two that are swapped.
local function slips(name)
  local found = {}
  for i = 2, #name do
    local head, letter, tail = name:sub(1, i - 1), name:sub(i, i), name:sub(i + 1)
    found[#found + 1] = head .. tail
    found[#found + 1] = head .. 'q' .. letter .. tail
    found[#found + 1] = head .. 'q' .. tail
    found[#found + 1] = head .. tail:sub(1, 1) .. letter .. tail:sub(2)
    found[#found + 1] = head:lower() .. letter:upper() .. tail
  end
  return found
end

describe('a name that torch does not have', function()
  it('is an error with the position of the program if it is a misspelt class', function()
    local look = assert(loadstring('local torch = ... local s = torch.FlaotStorage(3) return s', '=t'))
    local expected = "t:1: torch has no 'FlaotStorage': did you mean torch.FloatStorage?"
    assert.equal(expected, support.failure(look, torch))
    support.fails("torch has no 'doubletensor': did you mean torch.DoubleTensor?", function()
      return torch.doubletensor
    end)
  end)

  it('is an error for each slip in the name of each class', function()
    for _, T in ipairs(types.ALL) do
      for _, class in ipairs { T .. 'Storage', T ~= 'Untyped' and T .. 'Tensor' or nil } do
        for _, name in ipairs(slips(class)) do
          if rawget(torch, name) == nil then
            support.fails(("torch has no '%s': did you mean torch."):format(name), function()
              return torch[name]
            end)
          end
        end
      end
    end
  end)

  it('is nil if it is not a class of this library', function()
    for name in OTHERS:gmatch '%S+' do
      assert.is_nil(torch[name], name)
    end
    for _, key in ipairs { '', ' ', ('x'):rep(1e5), 'Float\0Storage\0\0', 1, 1.5, true, torch, print } do
      assert.is_nil(torch[key])
    end
    for _, T in ipairs(types.ALL) do
      for _, name in ipairs { 'Cuda' .. T .. 'Tensor', 'Cl' .. T .. 'Storage', T .. 'TensorX', 'Q' .. T .. 'Tensor' } do
        assert.is_nil(torch[name], name)
      end
    end
  end)

  it('can be set, and asked for without an error', function()
    assert.is_nil(rawget(torch, 'FlaotStorage'))
    torch.FlaotStorage = 'mine'
    assert.equal('mine', torch.FlaotStorage)
    torch.FlaotStorage = nil
    assert.is_nil(rawget(torch, 'FlaotStorage'))
    torch.class 'torch.FlaotStorage'
    assert.equal('torch.FlaotStorage', torch.typename(torch.FlaotStorage()))
    torch.FlaotStorage = nil
  end)
end)

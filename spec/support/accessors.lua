-- The ways to access elements, for specs that test all of them: through C and, on LuaJIT, in compiled code.
local torch = require 'torch'
local recorded = require 'spec.support.recorded'
local support = require 'spec.support'
local types = require 'spec.support.types'

local accessors = { MODES = support.luajit and { 'ffi', 'c' } or { 'c' } }

-- Calls body(T, class, width, index) for every class of Torch7 in every way; `index` is its index in the list of classes.
function accessors.each(body)
  for _, mode in ipairs(accessors.MODES) do
    torch.accessors(mode)
    for index, T in ipairs(types.TORCH7) do
      body(T, torch[T .. 'Storage'], types.WIDTH[T], index)
    end
  end
end

-- Runs recorded cases in every way to access elements.
function accessors.check(text, globals)
  for _, mode in ipairs(accessors.MODES) do
    torch.accessors(mode)
    recorded.check(text, globals)
  end
end

local before = torch.accessors()

-- Restores the way that was set before the spec; for after_each.
function accessors.restore()
  torch.accessors(before)
end

return accessors

-- The ways to access elements, for specs that go through all of them: by C and, on LuaJIT, by compiled code.
local torch = require 'torch'
local recorded = require 'spec.support.recorded'
local support = require 'spec.support'
local types = require 'spec.support.types'

local accessors = { MODES = support.luajit and { 'ffi', 'c' } or { 'c' } }

-- Calls body(T, class, width, place) for every class, the place-th in the list of them, in every way.
function accessors.each(body)
  for _, mode in ipairs(accessors.MODES) do
    torch.accessors(mode)
    for place, T in ipairs(types.TORCH7) do
      body(T, torch[T .. 'Storage'], types.WIDTH[T], place)
    end
  end
end

-- Runs recorded cases in every way.
function accessors.check(text, globals)
  for _, mode in ipairs(accessors.MODES) do
    torch.accessors(mode)
    recorded.check(text, globals)
  end
end

local before = torch.accessors()

-- Back to the way that was in force before; for after_each.
function accessors.restore()
  torch.accessors(before)
end

return accessors

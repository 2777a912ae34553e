-- The ways to access elements, for specs that go through all of them: by C and, on LuaJIT, by compiled code.
local torch = require 'torch'
local support = require 'spec.support'

local accessors = { MODES = support.luajit and { 'ffi', 'c' } or { 'c' } }

-- Calls body(T, class, width, place) for every class, the place-th in the list of them, in every way.
function accessors.each(body)
  for _, mode in ipairs(accessors.MODES) do
    torch.accessors(mode)
    for place, T in ipairs(support.TYPES) do
      body(T, torch[T .. 'Storage'], support.WIDTH[T], place)
    end
  end
end

local before = torch.accessors()

-- Back to the way that was in force before; for after_each.
function accessors.restore()
  torch.accessors(before)
end

return accessors

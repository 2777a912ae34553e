-- How long sort, argsort, topk and search take, in milliseconds of processor time, for bench/order.py, which gives the folder
-- of the files with the elements. The order of the lines is that of order.py.
local torch = require 'torch'
local folder, rounds = arg[1], tonumber(arg[2])

torch.setnumthreads(1)

-- The least time of `act`, which gets what `prepare` makes anew for each round.
local function time(prepare, act)
  local best = math.huge
  for _ = 1, rounds do
    local object = prepare()
    collectgarbage()
    local start = os.clock()
    act(object)
    best = math.min(best, os.clock() - start)
  end
  return best * 1e3
end

local function mapped(class, name)
  return torch[class .. 'Storage'] { filename = folder .. '/' .. name, readonly = true }
end

for _, class in ipairs { 'Double', 'Float', 'Int', 'Long', 'Half', 'Byte' } do
  local s = mapped(class, class):clone()
  local function same()
    return s
  end
  print(time(function()
    return s:clone()
  end, s.sort))
  print(time(same, s.argsort))
  print(time(same, function()
    s:topk(10)
  end))
end

local sorted, numbers = mapped('Int', 'sorted'), mapped('Int', 'numbers')
print(time(function()
  return numbers
end, function()
  sorted:search(numbers)
end))

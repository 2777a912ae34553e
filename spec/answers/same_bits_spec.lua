-- The same elements have the same results, bit by bit, with the instructions of every processor and any number of threads.
-- Interpreters: luajit
local support = require 'spec.support'

local path = support.temporary()

local PROGRAM = [[
local torch = require 'torch'
torch.setnumthreads(tonumber(arg[1]))
local n = 7000003
for _, T in ipairs { 'Float', 'Double', 'Half', 'BFloat16', 'Int', 'ComplexFloat' } do
  local s, o = torch[T .. 'Storage'](n), torch[T .. 'Storage'](n)
  -- Numbers of every size, which repeat late, so that each order of adding them has another rounding error.
  local piece = torch.DoubleStorage(100003)
  for i = 1, #piece do
    piece[i] = ((i * 7919) % 10007 - 5000) * 1.1 ^ (i % 60)
  end
  piece = piece:type('torch.' .. T .. 'Storage')
  for from = 1, n, #piece do
    local count = math.min(#piece, n - from + 1)
    s:copy(piece, from, 1, count)
    o:copy(piece, n - from - count + 2, 1, count)
  end
  local function say(name, v)
    if type(v) == 'number' then
      print(T, name, ('%.17g'):format(v))
    else
      print(T, name, tostring(v))
    end
  end
  say('sum', s:sum()) say('mean', s:mean()) say('norm', s:norm()) say('norm 1', s:norm(1)) say('dot', s:dot(o)) say('dist', s:dist(o))
  if T ~= 'ComplexFloat' then
    say('var', s:var()) say('min', s:min()) say('argmax', s:argmax()) say('count', s:count(piece[5])) say('cosine', torch.cosine(s, o))
    local x = s:view(-1):narrow(1, 1, 7000000):view(7, 1000000)
    local sums = x:sum(2)
    for i = 1, 7 do say('row', sums[i][1]) end
    say('columns', x:sum(1):sum())
    -- Small floats are compared without being converted before, where the processor can.
    for _, length in ipairs { 1, 15, 16, 99, 384, 5000 } do
      local rows, query = s:view(-1):narrow(1, 1, length * 50):view(50, length), o:view(-1):narrow(1, 1000, length)
      for _, metric in ipairs { 'dot', 'cosine', 'euclid' } do
        local numbers, scores = rows:nearest(query, 50, { metric = metric })
        for i = 1, 50 do say(metric .. length .. ' ' .. numbers[i], scores[i]) end
      end
      say('mv' .. length, rows:mv(query):sum())
    end
  end
end
]]

describe('results of sums #process', function()
  it('are the same on every processor and with any number of threads', function()
    local program = path 'program.lua'
    support.spit(program, PROGRAM)
    local first
    for _, level in ipairs { 'baseline', 'avx2', 'avx512' } do
      for _, threads in ipairs { 1, 2, 3 } do
        local output, status =
          support.execute(("TORCH_STORAGE_CPU=%s %s '%s' %d"):format(level, support.interpreter, program, threads))
        assert.equal(0, status, output)
        assert.is_true(#output > 1000, output)
        first = first or output
        assert.equal(first, output, level .. ', threads: ' .. threads)
      end
    end
  end)
end)

-- Runs recorded cases: text in the notation in which the behaviour of the original Torch7 was written down.
--
--     > s = torch.IntStorage{1, 2, 3}          a statement, run for what follows
--     s:size()   --> 3                         an expression (or a statement) and its results
--     s[4]   --> ERROR out of range            it raises a string with this in it, at the position of the call
--     [luajit] s[2LL]   --> 2                  on LuaJIT only; [puc] on PUC Lua only
--     [floats] rawlen   --> nil                before Lua 5.3; [integers] since then
--     [5.1] rawlen   --> nil                   on Lua 5.1 and LuaJIT; [later] since Lua 5.2
--     [gap1] #{nil, 2}   --> 2                 where this length is 2, which Lua leaves open
--     [gap2] #{1, nil, 3}   --> 3              where this length is 3
--
-- A storage reads <class #size: elements>, a number as %.17g. The lines of one text share their globals.
local torch = require 'torch'
local support = require 'spec.support'
local types = require 'spec.support.types'

local recorded = {}

local function number(v)
  if v ~= v then
    return 'nan' -- the sign of NaN depends on the interpreter
  end
  return support.plain(('%.17g'):format(v))
end

local function show(v)
  if torch.isStorage(v) then
    local elements = {}
    for i = 1, v:size() do
      elements[i] = number(v[i])
    end
    return ('<%s #%d: %s>'):format(torch.typename(v), v:size(), table.concat(elements, ' '))
  elseif type(v) == 'number' then
    return number(v)
  elseif type(v) == 'string' then
    return '"' .. v:gsub('[%c"\\\127-\255]', function(c)
      return ('\\%03d'):format(c:byte())
    end) .. '"'
  elseif type(v) == 'table' then
    local elements = {}
    for i = 1, #v do
      elements[i] = show(v[i])
    end
    return '{' .. table.concat(elements, ', ') .. '}'
  elseif v == nil or type(v) == 'boolean' then
    return tostring(v)
  end
  return type(v)
end

local function results(...)
  local count = select('#', ...)
  if count == 0 then
    return '(no value)'
  end
  local texts = {}
  for i = 1, count do
    texts[i] = show((select(i, ...)))
  end
  return table.concat(texts, ', ')
end

-- Runs the code. Returns its results in the notation above, and the message if it raised an error.
local function outcome(code, env)
  -- Passed as an argument instead of returned: a tail call has no position in error messages.
  local chunk = loadstring('return RESULTS(' .. code .. ')', '=t') or loadstring(code .. ' return RESULTS()', '=t')
  if not chunk then
    error('no Lua code: ' .. code, 0)
  end
  local ok, text = pcall(setfenv(chunk, env))
  if ok then
    return text
  end
  return 'ERROR ' .. tostring(text), text
end

-- Whether this interpreter is one of those that the word in brackets means.
local MEANT = {
  luajit = support.luajit,
  puc = not support.luajit,
  floats = not support.has_integers,
  integers = support.has_integers,
  ['5.1'] = _VERSION == 'Lua 5.1',
  later = _VERSION ~= 'Lua 5.1',
  gap1 = #{ nil, 2 } == 2,
  gap2 = #{ 1, nil, 3 } == 3,
}

local function is_meant(word)
  assert(MEANT[word] ~= nil, word)
  return MEANT[word]
end

local function check(code, expected, env)
  local got, message = outcome(code, env)
  local fragment = expected:match '^ERROR ?(.*)'
  local right
  if fragment then
    right = type(message) == 'string' and message:find('t:1: ', 1, true) == 1 and message:find(fragment, 1, true)
  else
    right = got == expected
  end
  if not right then
    return ('%s\n  expected: %s\n  got: %s'):format(code, expected, got)
  end
end

-- Runs the lines of a text, and raises an error that lists the cases with unexpected results. `globals` are added to the
-- environment of the code.
function recorded.check(text, globals)
  local env = setmetatable({ torch = torch, TYPES = types.TORCH7, RESULTS = results }, { __index = _G })
  for name, value in pairs(globals or {}) do
    env[name] = value
  end
  local cases, wrong = 0, {}
  for indented in text:gmatch '[^\n]+' do
    local only, rest = indented:match '^%s*%[([%w.]+)%]%s*(.*)$'
    local line = rest or indented:match '^%s*(.*)$'
    local statement = line:match '^> (.*)$'
    local is_for_others = only and not is_meant(only)
    if statement and not is_for_others then
      setfenv(assert(loadstring(statement, '=' .. statement)), env)()
    elseif line ~= '' and not is_for_others then
      local code, expected = line:match '^(.-)%s+%-%->%s(.*)$'
      assert(code, line)
      cases = cases + 1
      wrong[#wrong + 1] = check(code, expected, env)
    end
  end
  assert(cases > 0, 'no case in the text')
  if #wrong > 0 then
    error(('%d of %d cases:\n%s'):format(#wrong, cases, table.concat(wrong, '\n')), 2)
  end
end

recorded.show = show

return recorded

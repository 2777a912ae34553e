-- Programs that run the code blocks of a page in order, and the comparison of what they print with what the blocks promise.
local blocks = require 'tools.blocks'
local support = require 'spec.support'

local pages = {}

local MARK = '== end of a block =='

-- What a Lua program begins with that runs blocks by `pages.chunk`.
pages.HEAD = [[
local function run(source, name)
  return assert((loadstring or load)(source, name))()
end
]]

-- The statement that runs a Lua block, as a chunk of its own.
function pages.chunk(page, block)
  return ('run(%q, %q)'):format(block.source, ('=%s:%d'):format(page, block.number))
end

-- A Lua program of statements. It prints a mark after each of them, and ends at the first that fails.
function pages.program(head, statements)
  local parts = { head }
  for _, statement in ipairs(statements) do
    parts[#parts + 1] = statement
    parts[#parts + 1] = ('print %q'):format(MARK)
  end
  return table.concat(parts, '\n')
end

local function promise(block)
  if block.language ~= 'console' then
    return blocks.promise(block)
  end
  local outputs = {}
  for i, entry in ipairs(blocks.commands(block)) do
    outputs[i] = entry.output
  end
  return table.concat(outputs)
end
pages.promise = promise

local function outputs(text)
  local found, from = {}, 1
  while true do
    local first, last = text:find(MARK .. '\n?', from)
    if not first then
      return found, text:sub(from)
    end
    found[#found + 1] = text:sub(from, first - 1)
    from = last + 1
  end
end

-- Whether a text is what a block promises. A line `...` stands for any lines.
local function is_kept(promised, printed)
  local parts = {}
  for line in promised:gmatch '[^\n]*\n' do
    parts[#parts + 1] = line == '...\n' and '.*' or line:gsub('%p', '%%%0')
  end
  return printed:find('^' .. table.concat(parts) .. '$') ~= nil
end

-- Fails unless each block has printed what it promises.
function pages.check(page, list, text, status)
  local printed, rest = outputs(text)
  for i, block in ipairs(list) do
    local where = ('%s:%d: %s'):format(page, block.number, rest)
    assert(printed[i], where)
    local expected, got = support.plain(promise(block)), support.plain(printed[i])
    if not is_kept(expected, got) then
      require('luassert').equal(expected, got, where)
    end
  end
  require('luassert').equal(0, status, rest)
end

return pages

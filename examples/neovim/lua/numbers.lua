-- Shows a binary file as numbers in a buffer of Neovim. The file is mapped, so whatever its size, only the page that is shown is
-- read, and :write stores only the numbers that were changed.
local torch = require 'torch.storage'

local HELP = [=[
:Numbers FILE [TYPE [OFFSET]] shows a binary file as numbers in a buffer: the index of the first number of each line, and the
numbers. ]] and [[ show the next and the previous page, and :write puts the changed numbers into the file.

  FILE    the file, however large
  TYPE    a dtype such as int16, float32 or uint64, but not a complex one (uint8)
  OFFSET  the bytes before the first number (0)

After an error the file is as it was.
]=]

local COLUMNS = 8
local PAGE = 1000 * COLUMNS -- numbers in a page

-- By the number of its buffer: the storage, the index of the first number of the page, and the words that the page shows.
local views = {}

local numbers = {}

local function fail(text, ...)
  error(text:format(...), 0)
end

-- Touching bytes that a file does not have any more would end the editor.
local function check(storage)
  if not storage:check() then
    fail('%s is shorter than it was: open it again', storage:filename())
  end
end

-- An element as the shortest text that gives the same element.
local function text_of(storage, i, scratch)
  local exact = storage:decimal(i)
  if not exact:find '[.e]' then
    return exact
  end
  for digits = 1, 16 do
    local short = ('%.' .. digits .. 'g'):format(storage[i])
    scratch[1] = short
    if scratch:decimal(1) == exact then
      return short
    end
  end
  return exact
end

-- Fills the buffer with the page that begins with the number `first`.
local function show(buffer, first)
  local view = views[buffer]
  local storage = view.storage
  check(storage)
  local last = math.min(#storage, first + PAGE - 1)
  local scratch, width = view.class(1), #tostring(#storage)
  local words, lines = {}, {}
  for i = first, last do
    words[#words + 1] = text_of(storage, i, scratch)
  end
  for i = 1, #words, COLUMNS do
    local line = table.concat(words, ' ', i, math.min(i + COLUMNS - 1, #words))
    lines[#lines + 1] = ('%' .. width .. 'd: %s'):format(first + i - 1, line)
  end
  view.first, view.words = first, words
  vim.bo[buffer].modifiable = true
  vim.api.nvim_buf_set_lines(buffer, 0, -1, true, lines)
  vim.bo[buffer].modifiable = not storage:isReadOnly()
  vim.bo[buffer].modified = false
end

-- The changed numbers in the buffer: their positions in the page, and a storage of their elements.
local function changes(buffer)
  local view = views[buffer]
  local positions, position, elements = {}, 0, view.class()
  for n, line in ipairs(vim.api.nvim_buf_get_lines(buffer, 0, -1, true)) do
    local index, rest = line:match '^ *(%d+):(.*)$'
    if tonumber(index) ~= view.first + position then
      fail('line %d begins with %d: in this page', n, view.first + position)
    end
    local expected, got = math.min(COLUMNS, #view.words - position), 0
    for word in rest:gmatch '%S+' do
      got = got + 1
      if got <= expected and word ~= view.words[position + got] then
        positions[#positions + 1] = position + got
        elements:resize(#positions)
        local fits = pcall(elements.set, elements, #positions, word)
        -- An integer that is too large would lose its upper bits.
        if not fits or view.is_integer and elements:decimal(#positions) ~= word then
          fail("line %d: '%s' is not a %s", n, word, view.type)
        end
      end
    end
    if got ~= expected then
      fail('line %d: %d numbers expected, got %d', n, expected, got)
    end
    position = position + expected
  end
  if position ~= #view.words then
    fail('%d numbers expected, got %d', #view.words, position)
  end
  return positions, elements
end

local function write(buffer)
  local view = views[buffer]
  local positions, elements = changes(buffer)
  check(view.storage)
  for k, position in ipairs(positions) do
    view.storage:copy(elements, view.first + position - 1, k, 1)
  end
  show(buffer, view.first)
  vim.api.nvim_echo({ { ('wrote %d of %d numbers'):format(#positions, #view.words) } }, false, {})
end

local function turn(buffer, step)
  local view = views[buffer]
  local first = view.first + step * PAGE
  if vim.bo[buffer].modified then
    fail 'write the page first, or undo its changes'
  elseif first < 1 or first > #view.storage then
    fail 'there is no such page'
  end
  show(buffer, first)
end

-- Calls a function. An error becomes a message of Neovim.
local function try(f, ...)
  local done, problem = pcall(f, ...)
  if not done then
    vim.api.nvim_err_writeln('Numbers: ' .. tostring(problem):gsub('^%S+:%d+: ', ''))
  end
end

local function open(name, type, offset)
  type, offset = type or 'uint8', tonumber(offset or 0)
  local class = torch.getconstructortable(type)
  if not class or not offset or type:find '^complex' then
    fail "give a file, a dtype such as float32, and an offset in bytes: ':Numbers --help' says more"
  end
  local information = vim.loop.fs_stat(name) or fail('%s does not exist', name)
  local size = math.floor((information.size - offset) / class.elementSize())
  if size < 1 then
    fail('%s has no %s from byte %d on', name, type, offset)
  end
  local is_writable = vim.loop.fs_access(name, 'W')
  local storage = class {
    filename = name,
    offset = offset,
    size = size,
    shared = is_writable,
    readonly = not is_writable,
  }

  local buffer = vim.fn.bufadd(('numbers://%s/%s/%d'):format(vim.fn.fnamemodify(name, ':p'), type, offset))
  views[buffer] = { storage = storage, class = class, type = type, is_integer = type:find 'int' ~= nil }
  vim.bo[buffer].buftype, vim.bo[buffer].swapfile, vim.bo[buffer].buflisted = 'acwrite', false, true
  vim.api.nvim_set_current_buf(buffer)
  show(buffer, 1)
  for key, step in pairs { [']]'] = 1, ['[['] = -1 } do
    vim.keymap.set('n', key, function()
      try(turn, buffer, step)
    end, { buffer = buffer })
  end
  local group = vim.api.nvim_create_augroup('numbers' .. buffer, {})
  local function on(event, f)
    vim.api.nvim_create_autocmd(event, { group = group, buffer = buffer, callback = f })
  end
  on('BufWriteCmd', function()
    try(write, buffer)
  end)
  on('BufWipeout', function()
    views[buffer] = nil -- the map ends with its storage
  end)
end

-- What :Numbers does with its words.
function numbers.run(words)
  if words[1] == '--help' or #words == 0 then
    vim.api.nvim_echo({ { HELP } }, false, {})
  else
    try(open, unpack(words, 1, 3))
  end
end

return numbers

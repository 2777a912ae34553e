-- The code blocks of the project's pages, and which test runs each of them.
--
-- What follows the opening fence is a language and, in parentheses, a mark. These blocks run:
--
--   lua, lua (LuaJIT), lua (Lua 5.3)      spec/documentation/pages_spec.lua, on every interpreter, on LuaJIT, from Lua 5.3 on
--   console                               the same spec: lines that begin with `$ ` are commands, and the others their output
--   python                                the same spec, if target/numpy has Python's libraries; always in `make test-python`
--   lua (Neovim), lua (LÖVE),
--   lua (Tarantool), lua (OpenResty)      spec/documentation/host_pages_spec.lua
--   lua (MPI)                             mpi/spec/page_ranks.lua, on every rank
--   lua (2 ranks)                         mpi/spec/examples.lua, each as a job of its own
--   LANGUAGE (spec/x/y_spec.lua)          that spec, which names the page; `sh`: or each command
--   LANGUAGE (FILE)                       part of FILE, which is an example or a test that some spec or make target runs
--   sh                                    commands `make TARGET`; the target exists
--   text                                  no code: a drawing, or the text of a message
local files = require 'tools.files'
local markdown = require 'tools.markdown'

local blocks = {}

local RUNS_ALL = 'spec/documentation/pages_spec.lua'
local RUNS_IN_HOSTS = 'spec/documentation/host_pages_spec.lua'
local RUNNERS = { -- by what follows the fence
  ['lua'] = RUNS_ALL,
  ['lua (LuaJIT)'] = RUNS_ALL,
  ['console'] = RUNS_ALL,
  ['python'] = RUNS_ALL,
  ['lua (Neovim)'] = RUNS_IN_HOSTS,
  ['lua (LÖVE)'] = RUNS_IN_HOSTS,
  ['lua (Tarantool)'] = RUNS_IN_HOSTS,
  ['lua (OpenResty)'] = RUNS_IN_HOSTS,
  ['lua (MPI)'] = 'mpi/spec/page_ranks.lua',
  ['lua (2 ranks)'] = 'mpi/spec/examples.lua',
}

-- The pages whose blocks run. CHANGELOG.md has none.
function blocks.pages()
  return files.list 'ls README.md CONTRIBUTING.md docs/*.md examples/*.md 2>/dev/null'
end

-- The blocks of a page in their order: { info =, language =, mark = or nil, lines =, source =, number = }.
function blocks.of(page)
  local found = {}
  markdown.walk(files.read(page), nil, function(info, lines, number)
    found[#found + 1] = {
      info = info,
      language = info:match '^%S*',
      mark = info:match '^%S+ %((.+)%)$',
      lines = lines,
      source = table.concat(lines, '\n'),
      number = number,
    }
  end)
  return found
end

-- What the `-->` comments of a Lua block promise, a line each.
function blocks.promise(block)
  local promise = {}
  for _, line in ipairs(block.lines) do
    promise[#promise + 1] = line:match '%-%-> ?(.*)$'
  end
  return #promise > 0 and table.concat(promise, '\n') .. '\n' or ''
end

-- The commands of a console block with their outputs: { { command =, output = } ... }.
function blocks.commands(block)
  local commands = {}
  for _, line in ipairs(block.lines) do
    local command = line:match '^%$ (.*)$'
    if command then
      commands[#commands + 1] = { command = command, output = '' }
    else
      local last = assert(commands[#commands], 'a console block begins with a command, after `$ `')
      last.output = last.output .. line .. '\n'
    end
  end
  return commands
end

-- A text without the comments of C and with single spaces.
local function plain(text)
  return (' ' .. text .. ' '):gsub('/%*.-%*/', ' '):gsub('%s+', ' ')
end

-- The Makefile and all specs and tests, as one text.
local tests
local function text_of_tests()
  if not tests then
    local texts = { files.read 'Makefile' }
    for _, name in ipairs(files.list 'find spec mpi/spec tests -name "*.lua" -o -name "*.py" -o -name "*.rs"') do
      texts[#texts + 1] = files.read(name)
    end
    tests = table.concat(texts, '\n')
  end
  return tests
end

-- Whether a file is a test, or an example that a test or a make target names by its path, its folder or as an example of cargo.
local function is_run(file)
  local folder, program = file:match '^(examples/[^/]+)/', file:match '^examples/([^/]+)%.rs$'
  local names = { file, folder, program and '--example ' .. program }
  if file:find '^examples/' then
    for _, name in pairs(names) do
      if name and text_of_tests():find(name, 1, true) then
        return true
      end
    end
  end
  return file:find '^tests/' ~= nil or file:find '^mpi/spec/' ~= nil
end

-- Returns the file that runs a block; or nil, and why nothing does.
function blocks.runner(page, block)
  local runner = RUNNERS[block.info]
  if runner or block.info:match '^lua %(Lua 5%.%d%)$' then
    return runner or RUNS_ALL
  elseif block.info == 'text' then
    return page
  elseif block.language == 'sh' then
    local spec = block.mark and files.read_if_there(block.mark) or ''
    for _, line in ipairs(block.lines) do
      local command = line:gsub('%s*#.*$', '')
      if not (command:find '^make%f[%s%z]' or spec:find(command, 1, true) or spec:find(page, 1, true)) then
        return nil, ('nothing runs the command `%s`: use a block that begins with ```console'):format(command)
      end
    end
    return block.mark or 'Makefile'
  elseif not (block.mark and block.mark:find '^[%w_/.-]+$') then
    return nil, ('nothing runs a block that begins with ```%s'):format(block.info)
  end
  local text = files.read_if_there(block.mark)
  if not text then
    return nil, ('there is no file %s, which the block names'):format(block.mark)
  end
  if block.mark:find '^spec/.*_spec%.lua$' then
    if not text:find(page, 1, true) then
      return nil, ('%s does not name the page %s'):format(block.mark, page)
    end
  elseif not plain(text):find(plain(block.source), 1, true) then
    return nil, ('the block is not a part of %s'):format(block.mark)
  elseif not is_run(block.mark) then
    return nil, ('no test and no make target names %s'):format(block.mark)
  end
  return block.mark
end

return blocks

-- Checks that the project's pages are true: every link leads somewhere, every file, make target, method and function that a
-- page names exists, a test runs each code block, the book has all pages of docs, each example is on a page, each rule of the
-- unsafe code names tests that exist, and README.md is short and begins with an example.
--
--   luajit tools/check_docs.lua     (from the project's directory)
local blocks = require 'tools.blocks'
local files = require 'tools.files'
local markdown = require 'tools.markdown'

local LONGEST_README = 180
local FIRST_EXAMPLE = 20 -- the line by which README.md shows its first Lua

local problems = 0
local function problem(text, ...)
  problems = problems + 1
  print(text:format(...))
end

-- Every committed or new file and its folders; what git ignores is not there.
local exists = {}
for _, name in ipairs(files.list 'git ls-files --cached --others --exclude-standard') do
  while name and files.exists(name) do
    exists[name] = true
    name = name:match '^(.*)/[^/]*$'
  end
end

local targets = {}
for target in ('\n' .. files.read 'Makefile'):gmatch '\n([a-z-]+):' do
  targets[target] = true
end

-- What lua/torch/meta*.lua declares: 's:fill', 'x:narrow', 'torch.load', 'torch.npy.load',
-- 'torch.IntStorage'.
local declared = { ['torch.TYPEStorage'] = true, ['torch.TYPETensor'] = true }
local PREFIXES = { torch = 'torch.', Tensor = 'x:', Storage = 's:', File = 's:', SafetensorsFile = 's:' }
for _, file in ipairs(files.list 'ls lua/torch/meta*.lua') do
  for line in files.read(file):gmatch '[^\n]+' do
    local owner, name = line:match '^function ([%w.]+)[.:]([%w_]+)%('
    if owner then
      declared[(PREFIXES[owner] or owner .. '.') .. name] = true
    end
    declared[line:match '^(torch%.[%w_]+) = ' or ''] = true
  end
end

-- A path with `*`, or with `{a,b}`, names every file that it fits: there has to be one of each. A word in capitals below a
-- folder, as in src/lua/methods/SUBJECT.rs, stands for any name.
local function is_there(path)
  path = path:gsub('/%u%u%u+', '/*')
  local before, words, after = path:match '^(.-){(.-)}(.*)$'
  if before then
    for word in words:gmatch '[^,]+' do
      if not is_there(before .. word .. after) then
        return false
      end
    end
    return true
  end
  if not path:find('*', 1, true) then
    return exists[path] or false
  end
  local pattern = '^' .. path:gsub('%p', '%%%0'):gsub('%%%*', '[^/]*') .. '$'
  for name in pairs(exists) do
    if name:find(pattern) then
      return true
    end
  end
  return false
end

local anchors = {}
local function anchors_of(page)
  anchors[page] = anchors[page] or markdown.anchors(files.read(page))
  return anchors[page]
end

local linked = {}
local function check_link(page, number, target)
  if target:find '^%a+:' then
    return -- another site
  end
  local path, anchor = target:match '^([^#]*)#?(.*)$'
  local folder = page:match '^(.*/)' or ''
  local name = path == '' and page or files.normal(folder .. path)
  linked[name], linked[name:match '^examples/[^/]+' or ''] = true, true
  if not exists[name] then
    problem('%s:%d: the link leads to %s, which does not exist', page, number, name)
  elseif anchor ~= '' and not anchors_of(name)[anchor] then
    problem('%s:%d: %s has no heading for #%s', page, number, name, anchor)
  end
end

-- A word is the name of a file if it begins with a folder of the project, or looks like one of the files beside them.
local EXTENSIONS = { md = true, toml = true, lock = true }

local function check_names(page, number, text)
  for word in text:gmatch '[%w_.*{},/-]+' do
    local name = word:gsub('^%./', ''):gsub('[.,/]+$', '')
    local folder = name:match '^([^/]+)/'
    local is_ours = folder and exists[folder] or not folder and EXTENSIONS[name:match '^%u[%w_-]*%.(%l+)$']
    if is_ours and not name:find '^build/' and not name:find '^target/' and not is_there(name) then
      problem('%s:%d: there is no %s', page, number, name)
    end
  end
  -- That page also names functions of PyTorch.
  if page ~= 'docs/pytorch.md' then
    for owner, name in text:gmatch '%f[%w](%w+[:.])([%w_]+)%(' do
      local is_ours = owner == 's:' or owner == 'x:' or owner == 'torch.'
      if is_ours and not declared[owner .. name] then
        problem('%s:%d: there is no %s%s', page, number, owner, name)
      end
    end
  end
  for target in text:gmatch 'make ([a-z][a-z-]*)' do
    if not targets[target] then
      problem('%s:%d: the Makefile has no target %s', page, number, target)
    end
  end
end

local pages = files.list 'git ls-files --cached --others --exclude-standard "*.md"'
for _, page in ipairs(pages) do
  if exists[page] then
    local text = files.read(page)
    local function code(words, number)
      check_names(page, number, words)
    end
    markdown.walk(text, function(line, number)
      for target in line:gmatch '%]%(([^)]+)%)' do
        check_link(page, number, target)
      end
      for words in line:gmatch '`([^`]+)`' do
        code(words, number)
      end
    end, function(info, lines, number)
      if info == 'sh' then
        for i, line in ipairs(lines) do
          code(line, number + i)
        end
      end
    end)
  end
end

-- In docs/architecture.md every rule names its tests: `FILE`, "TITLE" for a spec, or `NAME` in `FILE` for a Rust test, whose
-- name has at least two underscores.
local function check_tests(page, rule, tests)
  local title_in, name
  for mark, word in tests:gmatch '([`"])(.-)%1' do
    if mark == '"' then
      if not (title_in and title_in:find(word, 1, true)) then
        problem('%s: rule %s: no test is called "%s"', page, rule, word)
      end
    elseif exists[word] then
      title_in = files.read(word)
      if name and not title_in:find('fn ' .. name .. '(', 1, true) then
        problem('%s: rule %s: %s has no test %s', page, rule, word, name)
      end
      name = nil
    elseif word:find '^%l+_[%l_]+_%l+$' then
      name = word
    end
  end
end

local ARCHITECTURE = 'docs/architecture.md'
for section in files.read(ARCHITECTURE):gsub('\n##+ ', '\0'):gmatch '%Z+' do
  local rule, text = section:match '^%[([%l-]+)%]\n(.*)$'
  local tests = rule and text:match '%*Tests:%*(.*)'
  if tests then
    check_tests(ARCHITECTURE, rule, (tests:gsub('%s+', ' ')))
  elseif rule then
    problem('%s: rule %s names no tests', ARCHITECTURE, rule)
  end
end

-- Every program in the folder of examples is on a page; these two folders have what the programs need.
local PARTS = { ['examples/data'] = true, ['examples/files'] = true }
for name in pairs(exists) do
  if name:find '^examples/[^/]+$' and not PARTS[name] and name ~= 'examples/README.md' and not linked[name] then
    problem('no page links to %s', name)
  end
end

for _, page in ipairs(blocks.pages()) do
  for _, block in ipairs(blocks.of(page)) do
    local runner, why = blocks.runner(page, block)
    if not runner then
      problem('%s:%d: %s', page, block.number, why)
    end
  end
end

local contents = files.read 'docs/SUMMARY.md'
for _, page in ipairs(files.list 'ls docs/*.md') do
  local name = page:match '[^/]*$'
  if name ~= 'SUMMARY.md' and not contents:find(('](%s)'):format(name), 1, true) then
    problem('docs/SUMMARY.md does not list %s', name)
  end
end

local _, lines = files.read('README.md'):gsub('\n', '')
local first = blocks.of('README.md')[1]
if first.language ~= 'lua' or first.number > FIRST_EXAMPLE then
  problem('README.md: its first example is not in Lua, or begins below line %d', FIRST_EXAMPLE)
end
if lines > LONGEST_README then
  problem('README.md has %d lines, and at most %d are allowed: move something to docs', lines, LONGEST_README)
end

print(('%d pages: %d problems'):format(#pages, problems))
os.exit(problems == 0 and 0 or 1)

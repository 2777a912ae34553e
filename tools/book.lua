-- Builds the book: the pages that docs/SUMMARY.md lists, and the files of the project that they link to. Then it checks all
-- links.
--
--   luajit tools/book.lua     (from the project's directory; `make docs` does it; mdBook is .tools/bin/mdbook)
--
-- A page links to other files relative to itself, so that its links work wherever the project is shown. In the book, files that
-- are not pages become pages that show them: an example in Lua is a page with its code.
local files = require 'tools.files'
local markdown = require 'tools.markdown'

local MDBOOK = '.tools/bin/mdbook'
local SOURCE, BOOK = 'target/book-source', 'target/book'
local LANGUAGES = { lua = 'lua', c = 'c', h = 'c', rs = 'rust', conf = 'nginx', py = 'python', toml = 'toml' }

local function run(command, ...)
  local status = os.execute(command:format(...))
  if status ~= 0 and status ~= true then
    os.exit(1)
  end
end

local function write(name, text)
  run("mkdir -p '%s'", name:match '^(.*)/')
  files.write(name, text)
end

-- Paths -------------------------------------------------------------------------------------------------------------------

-- Where a file of the project is in the source of the book. The pages of docs are at its top. mdBook has rules of its own for
-- files that are called README.md.
local function place_of(path)
  if path == 'README.md' then
    return 'readme-of-the-project.md'
  elseif path:find '%.md$' then
    return (path:gsub('^docs/', ''):gsub('README%.md$', 'index.md'))
  elseif path:find '^docs/' then
    return (path:gsub('^docs/', ''))
  end
  return path .. '.md'
end

-- The path from the folder of one place to another place.
local function relative(from, to)
  return ('../'):rep(select(2, from:gsub('/', ''))) .. to
end

-- The source of the book -----------------------------------------------------------------------------------------------------

local queue, queued = {}, {}
local function add(path)
  if not queued[path] then
    queued[path] = true
    queue[#queue + 1] = path
  end
end

-- The first heading of a page.
local function title_of(path)
  return files.read(path):match '^# ([^\n]*)' or path
end

-- A text with its links changed to where the files are in the book. A link that shows the name of a page shows its title instead.
local function with_links(text, path)
  local folder = path:match '^(.*/)' or ''
  local lines = {}
  local function keep(line)
    lines[#lines + 1] = line
  end
  markdown.walk(text, function(line)
    line = line:gsub('%[([%w-]+%.md)%]%(([^)#]+)', function(_, file)
      return files.exists(folder .. file) and ('[%s](%s'):format(title_of(folder .. file), file) or nil
    end)
    keep((line:gsub('(%]%()([^)]+)(%))', function(open, target, close)
      local file, anchor = target:match '^([^#]*)(.*)$'
      if file == '' or file:find '^%a+:' then
        return nil
      end
      file = files.normal(folder .. file)
      if not files.exists(file) then
        error(('%s links to %s, which is not there'):format(path, file), 0)
      end
      add(file)
      return open .. relative(place_of(path), place_of(file)) .. anchor .. close
    end)))
  end, function(info, block)
    keep('```' .. info)
    for _, line in ipairs(block) do
      keep(line)
    end
    keep '```'
  end)
  return table.concat(lines, '\n') .. '\n'
end

local function stage(path)
  local place = SOURCE .. '/src/' .. place_of(path)
  local text = files.read(path)
  if path:find '%.md$' then
    return write(place, with_links(text, path))
  elseif path:find '^docs/' then
    return write(place, text) -- a picture
  end
  local language = LANGUAGES[path:match '%.(%w+)$'] or 'text'
  write(place, ('# %s\n\n`````%s\n%s\n`````\n'):format(path:match '[^/]*$', language, (text:gsub('\n$', ''))))
end

-- The table of contents: docs/SUMMARY.md, and below the page of the examples their files.
local function contents()
  local text = with_links(files.read 'docs/SUMMARY.md', 'docs/SUMMARY.md')
  local listed = {}
  for _, path in ipairs(queue) do
    listed[path] = true
  end
  return function()
    local examples, others = {}, {}
    for _, path in ipairs(queue) do
      if not listed[path] and not path:find '^docs/pictures/' then
        local is_example = path:find '^examples/'
        local line = ('%s- [%s](%s)'):format(is_example and '  ' or '', path:gsub('^examples/', ''), place_of(path))
        table.insert(is_example and examples or others, line)
      end
    end
    table.sort(examples)
    table.sort(others)
    text = text:gsub('%- %[Examples%][^\n]*\n', function(line)
      return line .. table.concat(examples, '\n') .. '\n'
    end)
    return text .. table.concat(others, '\n') .. '\n'
  end
end

run("rm -rf '%s' '%s' && mkdir -p '%s'", SOURCE, BOOK, SOURCE)
run("cp docs/book.toml docs/book.css '%s'", SOURCE)
local finish = contents()
local done = 0
while done < #queue do
  done = done + 1
  stage(queue[done])
end
write(SOURCE .. '/src/SUMMARY.md', finish())
run("'%s' build '%s'", MDBOOK, SOURCE)

-- The links of the book ------------------------------------------------------------------------------------------------------

local problems, links = 0, 0
local function problem(text, ...)
  problems = problems + 1
  print(text:format(...))
end

local ids = {}
local function ids_of(page)
  if not ids[page] then
    ids[page] = {}
    for id in files.read(page):gmatch ' id="([^"]*)"' do
      ids[page][id] = true
    end
  end
  return ids[page]
end

local pages = files.list(("find '%s' -name '*.html'"):format(BOOK))
for _, page in ipairs(pages) do
  local folder = page:match '^(.*/)'
  for target in files.read(page):gmatch ' [hs][re][ec]f?="([^"]*)"' do
    target = target:gsub('&amp;', '&'):gsub('%%20', ' ')
    if not target:find '^%a+:' and page:sub(-9) ~= '/404.html' then
      links = links + 1
      local file, anchor = target:match '^([^#]*)#?(.*)$'
      file = file == '' and page or files.normal(folder .. file)
      if not files.exists(file) then
        problem('%s: the link leads to %s, which is not there', page, file)
      elseif anchor ~= '' and not ids_of(file)[anchor] then
        problem('%s: %s has no heading #%s', page, file, anchor)
      end
    end
  end
end

print(('%s/index.html: %d pages, %d links: %d problems'):format(BOOK, #pages, links, problems))
os.exit(problems == 0 and 0 or 1)

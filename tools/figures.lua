-- Writes the tables of README.md and docs/performance.md from the files in bench/results, which the benchmarks wrote (see
-- bench/tsv.lua).
--
--   luajit tools/figures.lua             (from the project's directory; `make bench-pictures` does it)
--   luajit tools/figures.lua --check     whether the pages have these tables, as `make check` asks
--
-- A table is a block between the comments `[figures: NAME]` and `[end figures: NAME]`, where NAME is one of TABLES below.
local files = require 'tools.files'

local PAGES, RESULTS = { 'README.md', 'docs/performance.md' }, 'bench/results/'

-- The rows of the one file whose name matches a pattern, as tables by the names of the columns.
local loaded = {}
local function rows_of(pattern)
  if loaded[pattern] then
    return loaded[pattern]
  end
  local found = {}
  for _, name in ipairs(files.list('ls ' .. RESULTS)) do
    if name:find('^' .. pattern .. '%.tsv$') then
      found[#found + 1] = name
    end
  end
  if #found ~= 1 then
    error(("%d files of %s match '%s', and one is needed"):format(#found, RESULTS, pattern))
  end
  local rows, columns = {}, nil
  for line in files.read(RESULTS .. found[1]):gmatch '([^\n]*)\n' do
    local cells = {}
    for cell in (line .. '\t'):gmatch '([^\t]*)\t' do
      cells[#cells + 1] = cell
    end
    if columns then
      local row = {}
      for number, column in ipairs(columns) do
        row[column] = tonumber(cells[number]) or cells[number]
      end
      rows[#rows + 1] = row
    elseif not line:find '^#' then
      columns = cells
    end
  end
  loaded[pattern] = rows
  return rows
end

-- The row of a case. `reference` is a part of the reference's name, or nil for the first one.
local function row_of(file, section, case, reference)
  for _, row in ipairs(rows_of(file)) do
    if row.section == section and row.case == case and tostring(row.reference):find(reference or '', 1, true) then
      return row
    end
  end
  error(("%s has no case '%s' in '%s'"):format(file, case, section))
end

local function short(number)
  return (number < 10 and '%.2f' or number < 100 and '%.1f' or '%.0f'):format(number)
end

-- A median, and in brackets its ratio to the reference.
local function cell(...)
  local row = row_of(...)
  return ('%s (%s)'):format(short(row.median), short(row.ratio))
end

-- A table with these titles. `lines` are lists of cells; a cell is a text, or nil if there is no figure.
local function markdown(titles, lines)
  local texts = { '| ' .. table.concat(titles, ' | ') .. ' |', '|' .. ('---|'):rep(#titles) }
  for _, line in ipairs(lines) do
    for column = 1, #titles do
      line[column] = line[column] or ''
    end
    texts[#texts + 1] = '| ' .. table.concat(line, ' | ', 1, #titles) .. ' |'
  end
  return table.concat(texts, '\n') .. '\n'
end

local HOSTS = {
  { 'Lua 5.1', 'lua5%.1' },
  { 'Lua 5.4', 'lua5%.4' },
  { '`luajit -joff`', 'luajit%-2%.1%.0%-beta3%-joff' },
  { 'LuaJIT of 2022', 'luajit%-2%.1%.0%-beta3' },
  { 'current LuaJIT', 'luajit%-2%.1%.%d%d%d%d+' },
}
local NUMBERS = { 'Byte', 'Int', 'Long', 'Half', 'Float', 'Double' }
local SMALL = { 'Double' }
-- What the table of elements shows: the text, the section of bench/access.lua, and classes.
local ELEMENTS = {
  { 'read `s[i]`', 'read s[i], 1e+03', NUMBERS },
  { 'write `s[i] = t[i]`', 'write s[i] = t[i], a number, 1e+03', NUMBERS },
  { 'write `s[i] = i`', 'write s[i] = i, 1e+03', { 'Int', 'Double' } },
  { '`s[i] = s[i] + 1`', 's[i] = s[i] + 1, 1e+03', { 'Int', 'Float', 'Double' } },
  { 'read `s[row * 100 + column]`', 'read s[row * 100 + column], 1e+04', { 'Float', 'Double' } },
  { '`s[i] = x * t[i] + u[i]`', 's[i] = x * t[i] + u[i], 1e+03', { 'Float', 'Double' } },
  { '`s[i].re + s[i].im`', 's[i].re + s[i].im', { 'ComplexDouble' } },
  { '`re, im = s:get(i)`', 're, im = s:get(i)', { 'ComplexDouble' } },
  { '`s:set(i, re, im)`', 's:set(i, x, y)', { 'ComplexDouble' } },
  { '`for i, v in s:iter()`', 's:iter()', SMALL },
  { '`#s`', '#s', SMALL },
  { '`s:size()`', 's:size()', SMALL },
  { '`s:fill(v)`, 10 elements', 's:fill(v), 10', SMALL },
  { '`s:copy(o)`, 10 elements', 's:copy(o), 10', SMALL },
  { 'a view', 'view(s, 11, 50)', SMALL },
  { '`DoubleStorage(10)`, made and dropped', 'new(10), dropped', SMALL },
  { '`new{a, b, c}`', 'new{a, b, c}', SMALL },
  { '`new(t)` of a table of 1e6, an element', 'new(t), 1e+06', SMALL },
}

local TENSORS = {
  { '`x:get(i, j)`', 'x:get(i, j), 1000 x 1000' },
  { '`local get = x.get`, `get(x, i, j)`', 'local get = x.get; get(x, i, j), 1000 x 1000' },
  { '`x:get(i, j, k)`, 100 x 100 x 100', 'x:get(i, j, k), 100 x 100 x 100' },
  { '`x:set(i, j, v)`', 'x:set(i, j, v), 1000 x 1000' },
  { '`x[{i, j}]`', 'x[{i, j}], 1000 x 1000' },
  { '`x[{i, j}] = v`', 'x[{i, j}] = v, 1000 x 1000' },
  { '`row[j]` after `row = x[i]`', 'row = x[i] once, row[j]' },
  { '`row[j] = v` after `row = x[i]`', 'row = x[i] once, row[j] = v' },
}

local WHOLE = {
  'fill Byte',
  'fill Double',
  'Byte -> Byte',
  'Double -> Double',
  'Byte -> Double',
  'Float -> Byte',
  'Float -> Int',
  'Double -> Byte',
  'Byte -> Half',
  'Float -> Half',
  'Half -> Float',
  'Float -> BFloat16',
  'Float -> Float8_e5m2',
  'Float -> ComplexFloat',
  'ComplexFloat -> Float',
  'equal Float',
  'byteswap Int',
  'construct + fill 80 MB',
  '1 GiB fill',
  '1 GiB copy',
}

-- How many times as fast as the reference, by medians.
local function speed(row)
  return ('%.2f'):format(row.reference_median / row.median)
end

local C_CLASSES = { Byte = true, Char = true, Short = true, Int = true, Long = true, Float = true, Double = true }
local function is_c(class)
  return C_CLASSES[class]
end

local function is_small(class)
  return class == 'BFloat16' or class:find '^Float8_' ~= nil
end

-- What the table of means shows: the text, which conversions, and whether fills of C classes belong to it.
local KINDS = {
  {
    'fills and the 49 pairs of C classes',
    function(to, from)
      return is_c(to) and is_c(from)
    end,
    true,
  },
  {
    'pairs with Half',
    function(to, from)
      return (to == 'Half' or from == 'Half') and not is_small(to) and not is_small(from)
    end,
  },
  {
    'pairs with BFloat16 and the floats of 8 bits',
    function(to, from)
      return is_small(to) or is_small(from)
    end,
  },
}

-- The geometric mean of how many times as fast the chosen cases are.
local function mean(is_chosen)
  local logarithms, count = 0, 0
  for _, row in ipairs(rows_of 'versus_numpy%.python') do
    if is_chosen(row) then
      logarithms, count = logarithms + math.log(row.reference_median / row.median), count + 1
    end
  end
  return ('%.2f'):format(math.exp(logarithms / count))
end

local COPIED = 'torch.%s.load(path, {mmap=false})'
-- What the table of files shows: the text, the section of bench/formats.py, the case for a format, and the reference.
local FORMATS = {
  { 'map 1 GiB (`safe_open`, `mmap_mode`)', 'mapping 1024 MiB', 'torch.%s.load(path)' },
  { 'load 1 GiB as a copy (`load_file`, `load`)', 'copying 1024 MiB', COPIED, 'load_file' },
  { 'the same, next to a plain `read`', 'copying 1024 MiB', COPIED, 'read' },
  { 'save 1 GiB to memory (`/dev/shm`)', 'saving 1024 MiB, to memory (/dev/shm)', 'torch.%s.save(path, tensors)' },
  { 'save 1 GiB to the disk and wait for it', 'saving 1024 MiB, to the disk', 'torch.%s.save(path, tensors)' },
}

local OBJECTS = {
  { '`DoubleStorage(10)`', 'DoubleStorage(10), made and dropped', 'table of 10', '' },
  { 'the same', 'DoubleStorage(10), made and dropped', 'calloc(80)', '' },
  { 'the same', 'DoubleStorage(10), made and dropped', 'header and 80 bytes', '' },
  { 'a view', 'a view, made and dropped', 'table of 3', '' },
  { 'the same', 'a view, made and dropped', 'userdata with __gc, calloc(64)', '' },
}

local TABLES = {
  front = function()
    local function front(...)
      return row_of('front%.luajit%-2%.1%.0%-beta3', ...)
    end
    local beside_table = front('sum of 1e+06 elements', 'DoubleStorage', 'table')
    local beside_pointer = front('sum of 1e+06 elements', 'DoubleStorage', 'FFI pointer')
    local opened = front('a file of 1 GiB', 'FloatStorage { filename }, last element')
    local attached = front('500 MB for 8 workers', 'FloatStorage { shared }, last element')
    local memory = front('500 MB for 8 workers', 'memory of all workers')
    return markdown({ '', 'here', 'instead' }, {
      {
        'an element of a million, in a compiled loop',
        short(beside_table.median) .. ' ns',
        ('a table %s ns, an FFI pointer without checks %s ns'):format(
          short(beside_table.reference_median),
          short(beside_pointer.reference_median)
        ),
      },
      {
        'the last element of a file of 1 GiB',
        short(opened.median) .. ' ms',
        ('reading the file into memory %s ms'):format(short(opened.reference_median)),
      },
      {
        '500 MB for 8 processes',
        ('%s MB in all, each ready in %s ms'):format(short(memory.median), short(attached.median)),
        ('a copy in each %s MB and %s ms'):format(short(memory.reference_median), short(attached.reference_median)),
      },
    })
  end,

  elements = function()
    local titles, lines = { 'case' }, {}
    for _, host in ipairs(HOSTS) do
      titles[#titles + 1] = host[1]
    end
    for _, case in ipairs(ELEMENTS) do
      for _, class in ipairs(case[3]) do
        local line = { case[3] == SMALL and case[1] or ('%s, %s'):format(case[1], class) }
        for _, host in ipairs(HOSTS) do
          line[#line + 1] = cell('access%.' .. host[2], case[2], class .. 'Storage')
        end
        lines[#lines + 1] = line
      end
    end
    return markdown(titles, lines)
  end,

  tensors = function()
    local lines = {}
    for _, case in ipairs(TENSORS) do
      local line = { case[1] }
      for _, class in ipairs { 'Double', 'Float', 'Byte', 'Int', 'Long' } do
        line[#line + 1] = cell('tensors%.luajit%-2%.1%.0%-beta3', case[2], class .. 'Tensor')
      end
      lines[#lines + 1] = line
    end
    return markdown({ 'case', 'Double', 'Float', 'Byte', 'Int', 'Long' }, lines)
  end,

  numpy = function()
    local lines = {}
    for _, case in ipairs(WHOLE) do
      local one = row_of('versus_numpy%.python', '1 thread', case, 'NumPy')
      local two = row_of('versus_numpy%.python', '2 threads', case, 'NumPy')
      local name = case:gsub('%->', 'to')
      lines[#lines + 1] = { name, short(one.reference_median), short(one.median), speed(one), speed(two) }
    end
    return markdown({ 'what', 'NumPy, ms', 'one thread, ms', 'times as fast', 'with two threads' }, lines)
  end,

  means = function()
    local lines = {}
    for _, kind in ipairs(KINDS) do
      local line = { kind[1] }
      for _, threads in ipairs { '1 thread', '2 threads' } do
        line[#line + 1] = mean(function(row)
          local to, from = row.case:match '^(%w+) %-> ([%w_]+)$'
          local converts = to and kind[2](to, from)
            or kind[3] and row.case:find '^fill %u%l+$' and is_c(row.case:sub(6))
          return row.section == threads and row.reference:find '^NumPy' and converts
        end)
      end
      lines[#lines + 1] = line
    end
    return markdown({ 'what', 'one thread', 'two threads' }, lines)
  end,

  sizes = function()
    local lines = {}
    for _, size in ipairs { '1e+06', '4e+06', '1e+07' } do
      local logarithms, count, least, slow, plain = 0, 0, nil, 0, 0
      for _, row in ipairs(rows_of 'versus_numpy_sizes%.python') do
        local is_of_size = row.section == ('1 thread, %s elements'):format(size) and row.case ~= 'construct + fill'
        local ratio = row.reference_min / row.min
        if is_of_size and row.reference == 'memcpy' then
          plain = plain + math.log(ratio)
        elseif is_of_size then
          logarithms, count = logarithms + math.log(ratio), count + 1
          slow = slow + (ratio < 0.95 and 1 or 0)
          if not least or ratio < least.ratio then
            least = { ratio = ratio, case = row.case:gsub('%->', 'to') }
          end
        end
      end
      lines[#lines + 1] = {
        size,
        ('%.2f'):format(math.exp(logarithms / count)),
        ('%d of %d'):format(slow, count),
        ('%.2f (%s)'):format(least.ratio, least.case),
        ('%.2f'):format(math.exp(plain / count)),
      }
    end
    return markdown({ 'elements', 'geometric mean', 'below 0.95', 'least', 'next to memcpy' }, lines)
  end,

  formats = function()
    local lines = {}
    for _, case in ipairs(FORMATS) do
      local line = { case[1] }
      for _, format in ipairs { 'safetensors', 'npy', 'npz' } do
        local row = row_of('formats%.python', case[2], case[3]:format(format), case[4])
        line[#line + 1] = ('%.2f'):format(row.min / row.reference_min)
      end
      lines[#lines + 1] = line
    end
    return markdown({ 'what', 'safetensors', 'npy', 'npz' }, lines)
  end,

  small = function()
    local lines = {}
    for _, case in ipairs(OBJECTS) do
      local line = { ('%s, next to %s'):format(case[1], (case[3]:gsub('__gc', '`__gc`'))) }
      for _, host in ipairs { 'small%.luajit%-2%.1%.0%-beta3', 'small%.lua5%.1' } do
        line[#line + 1] = cell(host, case[2], case[3], case[4])
      end
      lines[#lines + 1] = line
    end
    return markdown({ 'case', 'LuaJIT', 'Lua 5.1' }, lines)
  end,
}

local check = arg[1] == '--check'
local problems, found = 0, {}
for _, page in ipairs(PAGES) do
  local text = files.read(page)
  local new = text:gsub(
    '(%[figures: (%w+)%][^\n]*\n\n)(.-)(\n[^\n]*%[end figures: (%w+)%])',
    function(first, name, old, last, ended)
      assert(TABLES[name] and name == ended, ("%s: no table is called '%s' and ends as '%s'"):format(page, name, ended))
      found[name] = true
      local now = TABLES[name]()
      if check and now ~= old then
        problems = problems + 1
        local message = "%s: table '%s' does not have the figures of %s; run `luajit tools/figures.lua`"
        print(message:format(page, name, RESULTS))
      end
      return first .. now .. last
    end
  )
  if not check then
    files.write(page, new)
  end
end
for name in pairs(TABLES) do
  if not found[name] then
    problems = problems + 1
    print(("no page has a place for the table '%s'"):format(name))
  end
end
os.exit(problems == 0 and 0 or 1)

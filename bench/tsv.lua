-- Writes the figures of a benchmark to a tab separated file, if the environment variable TSV names a folder, as in
-- `make bench TSV=target/bench`. bench/tsv.py does the same for the benchmarks in Python. A missing folder is made.
--
-- A file belongs to one benchmark and one interpreter: access.luajit-2.1.0-beta3-joff.tsv. A new run replaces it, also if it
-- measures only one section. The file begins with lines `# NAME: TEXT`: benchmark, date, machine, caches, versions and command.
-- Then comes a line with the names of the columns, and then a line for each figure. The columns are:
--
--   section            the heading that the case belongs to
--   case               what was measured
--   unit               of the figures, for example `ns/element`. Less is always better.
--   min, median        the smallest figure of the rounds, and their median
--   reference          what the case is compared with. A case with several references has several lines.
--   reference_min, reference_median    the figures of the reference, measured in turn with the case
--   ratio              the case divided by its reference: the median of the ratios of the rounds, if the benchmark takes that,
--                      else the ratio of the medians. Below 1 the case is better.
--
-- A cell is empty if there is no such figure. No cell contains a tab or a line end.
local tsv = {}

local jit = rawget(_G, 'jit')
local COLUMNS =
  { 'section', 'case', 'unit', 'min', 'median', 'reference', 'reference_min', 'reference_median', 'ratio' }
local file

local function clean(text)
  return (tostring(text):gsub('%s+', ' '))
end

-- The first line of a file that matches the pattern, without what does not belong to the capture; nil if there is none.
local function match_in(name, pattern)
  local from = io.open(name)
  local text = from and from:read '*a' or ''
  if from then
    from:close()
  end
  return text:match(pattern)
end

-- The model of the processor.
function tsv.processor()
  return match_in('/proc/cpuinfo', 'model name%s*:%s*([^\n]+)') or 'unknown processor'
end

-- The caches that the first core uses, for example `L1 Data 32K, L2 Unified 1024K, L3 Unified 32768K`.
local function caches()
  local list = {}
  for index = 0, 9 do
    local folder = ('/sys/devices/system/cpu/cpu0/cache/index%d/'):format(index)
    local size = match_in(folder .. 'size', '%w+')
    if size then
      local level, kind = match_in(folder .. 'level', '%d+'), match_in(folder .. 'type', '%w+')
      list[#list + 1] = ('L%s %s %s'):format(level or '?', kind or '?', size)
    end
  end
  return #list > 0 and table.concat(list, ', ') or 'unknown'
end

-- The command line, without the folders of absolute paths.
local function command()
  local words, lowest = {}, 0
  while arg[lowest - 1] do
    lowest = lowest - 1
  end
  for i = lowest, #arg do
    words[#words + 1] = arg[i]:gsub('^/.*/', '')
  end
  return table.concat(words, ' ')
end

-- The interpreter in the name of a file.
local function interpreter()
  local name = (jit and jit.version or _VERSION:gsub(' ', '')):lower():gsub('[^%w.]+', '-')
  return jit and not jit.status() and name .. '-joff' or name
end

-- Begins the file of the running benchmark. `versions` is a text that names the interpreter and the library.
function tsv.open(versions)
  local folder = os.getenv 'TSV'
  if not folder or folder == '' then
    return
  end
  local benchmark = arg[0]:match '([^/]+)%.lua$' or arg[0]
  os.execute("mkdir -p '" .. folder:gsub("'", "'\\''") .. "'")
  file = assert(io.open(('%s/%s.%s.tsv'):format(folder, benchmark, interpreter()), 'w'))
  for _, fact in ipairs {
    { 'benchmark', benchmark },
    { 'date', os.date '!%Y-%m-%d %H:%M:%S UTC' },
    { 'machine', tsv.processor() },
    { 'caches', caches() },
    { 'versions', versions },
    { 'command', command() },
  } do
    file:write('# ', fact[1], ': ', clean(fact[2]), '\n')
  end
  file:write(table.concat(COLUMNS, '\t'), '\n')
end

-- Writes one line: a table with the columns as keys. `ratio` may be missing. Without TSV nothing happens.
function tsv.row(row)
  if not file then
    return
  end
  row.ratio = row.ratio or row.median and row.reference_median and row.median / row.reference_median
  local cells = {}
  for index, column in ipairs(COLUMNS) do
    local value = row[column] or ''
    cells[index] = type(value) == 'number' and ('%.6g'):format(value) or clean(value)
  end
  file:write(table.concat(cells, '\t'), '\n')
  file:flush()
end

return tsv

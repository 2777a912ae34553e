-- The text of a tensor, which `tostring` and `print` show, by the rules of Torch7. Of a large tensor only the edges of each
-- dimension are shown, with `...` between them. Only these elements are read, and the format is chosen for them.
local core = require 'torch.core'
local format = require 'torch.format'
local versions = require 'torch.versions'

local type, pcall, error, ipairs, tonumber = type, pcall, error, ipairs, tonumber
local string_format, concat, whole = string.format, table.concat, versions.whole
local floor, min, max, huge = math.floor, math.min, math.max, math.huge

-- The characters of a line, and what stands for the elements that are left out.
local LINE, ELISION = 80, ' ...'

-- Of a large tensor of more than two dimensions at most this many elements are shown, or as many as the threshold if that is
-- more.
local MOST = 1000

-- How many indices of a dimension are shown. With an edge, a dimension that is longer than two edges shows only these.
local function shown(size, edge)
  return edge and min(size, 2 * edge) or size
end

-- How many indices are shown at both ends of the dimensions that are longer than that, or nil if all elements are shown. If the
-- edges of many dimensions have too many elements, fewer are shown, and 0 if it is still too many.
local function edge_of(sizes, elements)
  local options = format.get()
  if elements <= options.threshold or #sizes == 0 then
    return nil
  end
  local edge = options.edgeitems
  while #sizes > 2 and edge > 0 do
    local count = 1
    for d = 1, #sizes do
      count = count * shown(sizes[d], edge)
    end
    if count <= max(options.threshold, MOST) then
      break
    end
    edge = floor(edge / 2)
  end
  return edge
end

-- Appends the elements of nested tables of this depth.
local function flatten(values, t, depth)
  if depth == 0 then
    values[#values + 1] = t
    return
  end
  for i = 1, #t do
    flatten(values, t[i], depth - 1)
  end
end

-- Appends the elements of a tensor that are shown, in row-major order. Its dimensions are those of `sizes` from `d` on. A tensor
-- without dimensions is the element itself, as `select` gives it.
local function read(values, x, sizes, d, edge)
  local is_whole = true
  for inner = d, #sizes do
    is_whole = is_whole and shown(sizes[inner], edge) == sizes[inner]
  end
  if d > #sizes and d > 1 then
    values[#values + 1] = x
  elseif is_whole then
    flatten(values, x:totable(), #sizes - d + 1)
  else
    local size = sizes[d]
    local count = shown(size, edge)
    for i = 1, count do
      local index = (count < size and i > edge) and size - count + i or i
      read(values, x:select(1, index), sizes, d + 1, edge)
    end
  end
end

-- The texts of all elements.
local function texts_of(item, values, per)
  local texts = {}
  for i = 1, #values, per do
    if per == 1 then
      texts[i] = string_format(item, values[i])
    else
      texts[#texts + 1] = string_format(item, values[i], values[i + 1], values[i + 2])
    end
  end
  return texts
end

-- How many columns fit into a line of this length. Elements that are printed without a width are not cut into blocks.
local function columns_in(line, item, per)
  local width = tonumber(item:match '^%%(%d+)')
  if not width then
    return huge
  end
  -- Both parts of a complex number (the second one without a sign), ` + ` and `i`.
  return floor(line / ((per == 1 and width or 2 * width + 3) + 1))
end

-- The blocks into which the columns are cut. A block has the columns from `first` to `last` among those that are shown, and
-- `hidden` is how many columns are left out before it. After the column `gap` columns are left out inside of the block.
local function blocks_of(size, edge, per_line)
  local count = shown(size, edge)
  local hidden = size - count
  -- The mark for the columns that are left out takes as much space as a column.
  if hidden > 0 and count < per_line then
    return { { first = 1, last = count, hidden = 0, gap = edge } }
  end
  local blocks = {}
  local function cut(first, last, before)
    while first <= last do
      local next_one = min(first + per_line, last + 1)
      blocks[#blocks + 1] = { first = first, last = next_one - 1, hidden = before }
      first = next_one
    end
  end
  if hidden == 0 then
    cut(1, count, 0)
  else
    cut(1, edge, 0)
    cut(edge + 1, count, hidden)
  end
  return blocks
end

-- Appends the lines of a matrix, whose elements follow the first `start` texts.
local function append_matrix(lines, texts, start, matrix, indentation)
  local blocks, columns, factor = matrix.blocks, matrix.columns, matrix.factor
  local margin = factor and indentation .. ' ' or indentation
  for number, block in ipairs(blocks) do
    local first, last = block.first, block.last
    if number > 1 then
      lines[#lines + 1] = block.hidden > blocks[number - 1].hidden and '\n' .. ELISION .. '\n\n' or '\n'
    end
    if #blocks > 1 then
      local title = 'Columns ' .. whole(first + block.hidden) .. ' to ' .. whole(last + block.hidden) .. '\n'
      -- As in Torch7, only the first title is indented.
      lines[#lines + 1] = number == 1 and indentation .. title or title
    end
    if factor then
      lines[#lines + 1] = indentation .. factor
    end
    for row = 1, matrix.rows do
      if row - 1 == matrix.gap then
        lines[#lines + 1] = indentation .. ELISION .. '\n'
      end
      local before = start + (row - 1) * columns
      local text
      if block.gap then
        text = concat(texts, ' ', before + 1, before + block.gap)
          .. ELISION
          .. ' '
          .. concat(texts, ' ', before + block.gap + 1, before + last)
      else
        text = concat(texts, ' ', before + first, before + last)
      end
      lines[#lines + 1] = margin .. text .. '\n'
    end
  end
end

-- Appends the matrices of a tensor of more than two dimensions. The first index counts fastest, as in Torch7.
local function append_matrices(lines, texts, sizes, edge, matrix)
  local outer = #sizes - 2
  local positions, strides, stride = {}, {}, matrix.rows * matrix.columns
  for d = outer, 1, -1 do
    positions[d], strides[d] = 1, stride
    stride = stride * shown(sizes[d], edge)
  end
  local d
  repeat
    local start, indices = 0, {}
    for i = 1, outer do
      local position, hidden = positions[i], sizes[i] - shown(sizes[i], edge)
      start = start + (position - 1) * strides[i]
      indices[i] = whole((hidden > 0 and position > edge) and position + hidden or position)
    end
    lines[#lines + 1] = '(' .. concat(indices, ',') .. ',.,.) = \n'
    append_matrix(lines, texts, start, matrix, ' ')
    d = 1
    while d <= outer and positions[d] == shown(sizes[d], edge) do
      positions[d] = 1
      d = d + 1
    end
    if d <= outer then
      local is_gap = positions[d] == edge and shown(sizes[d], edge) < sizes[d]
      lines[#lines + 1] = is_gap and '\n' .. ELISION .. '\n\n' or '\n'
      positions[d] = positions[d] + 1
    end
  until d > outer
end

-- Appends the lines of the elements of a tensor.
local function append_elements(lines, x, sizes, edge)
  local values = {}
  read(values, x, sizes, 1, edge)
  local item, per, factor
  item, values, per, factor = format.prepare(values, core.typename(x))
  local texts, dimensions = texts_of(item, values, per), #sizes
  if dimensions < 2 then
    local count = #texts
    lines[1] = factor
    if edge and count < sizes[1] then
      lines[#lines + 1] = concat(texts, '\n', 1, edge) .. '\n' .. ELISION .. '\n'
      lines[#lines + 1] = concat(texts, '\n', edge + 1) .. '\n'
    else
      lines[#lines + 1] = concat(texts, '\n') .. '\n'
    end
    return
  end
  local rows, line = sizes[dimensions - 1], dimensions > 2 and LINE - 1 or LINE
  local matrix = {
    rows = shown(rows, edge),
    columns = shown(sizes[dimensions], edge),
    blocks = blocks_of(sizes[dimensions], edge, columns_in(line, item, per)),
    factor = factor,
    -- The row after which rows are left out.
    gap = shown(rows, edge) < rows and edge or nil,
  }
  if dimensions == 2 then
    append_matrix(lines, texts, 0, matrix, '')
  else
    append_matrices(lines, texts, sizes, edge, matrix)
  end
end

local function facts(x)
  return x:size():totable(), x:nElement()
end

-- The text of a tensor, which ends in a newline.
return function(x)
  local ok, sizes, elements = pcall(facts, x)
  if not ok then
    local problem = type(sizes) == 'string' and sizes:match '%((the tensor has no storage.*)%)$'
    if not problem and core.isTensor(x) then
      error(sizes, 0) -- an error of the host: the stack overflowed, or a hook raised it
    end
    problem = problem or 'torch.*Tensor expected, got ' .. format.typename(x)
    format.raise("bad argument #1 to 'tostring' (" .. problem .. ')')
  end
  -- The error of a storage that became too small, as every method raises it, with the position of the program.
  local has_elements, message = core.looktensor(x)
  if not has_elements then
    format.raise(message)
  end
  local lines = {}
  local edge = edge_of(sizes, elements)
  if edge == 0 then
    lines[1] = ELISION .. '\n'
  elseif elements > 0 then
    append_elements(lines, x, sizes, edge)
  end
  for d = 1, #sizes do
    sizes[d] = whole(sizes[d])
  end
  local shape = #sizes == 0 and 'scalar' or 'of size ' .. concat(sizes, 'x')
  lines[#lines + 1] = '[' .. core.typename(x) .. ' ' .. shape .. ']\n'
  return concat(lines)
end

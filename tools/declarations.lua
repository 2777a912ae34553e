-- Reads the declarations and comments (LuaCATS) of the interface, lua/torch/meta*.lua.
local declarations = {}

-- Splits a tag's text after its type. A type may contain spaces within brackets, and after `:`, `,` and `|`.
local function split_type(text)
  local depth, i = 0, 1
  while i <= #text do
    local character = text:sub(i, i)
    if character:find '[%(%[{<]' then
      depth = depth + 1
    elseif character:find '[%)%]}>]' then
      depth = depth - 1
    elseif character == ' ' and depth == 0 then
      local goes_on = text:sub(i - 1, i - 1):find '[:,|]' or text:sub(i + 1, i + 1) == '|'
      if not goes_on then
        break
      end
    end
    i = i + 1
  end
  return text:sub(1, i - 1), text:sub(i + 1)
end

-- The text and the tags of a comment. Lines that follow a tag belong to its explanation.
local function parse(lines)
  local doc = { text = {}, params = {}, returns = {}, fields = {}, values = {}, overloads = {} }
  local current
  local generic = {} -- the types that type parameters stand for, by their names
  for _, line in ipairs(lines) do
    local tag, rest = line:match '^@(%w+) ?(.*)$'
    if tag == 'param' or tag == 'field' then
      local name, type_and_text = rest:match '^(%S+) (.*)$'
      local optional = name:sub(-1) == '?'
      local of_type, text = split_type(type_and_text)
      of_type = generic[of_type] or of_type
      current = { name = name:gsub('%?$', ''), optional = optional, type = of_type, text = text }
      table.insert(tag == 'param' and doc.params or doc.fields, current)
    elseif tag == 'return' then
      local of_type, text = split_type(rest)
      local name, explanation = text:match '^(%S+) ?(.*)$'
      current = { type = generic[of_type] or of_type, name = name, text = explanation or '' }
      table.insert(doc.returns, current)
    elseif tag == 'generic' then
      local name, of_type = rest:match '^(%w+): (.*)$'
      generic[name] = of_type
    elseif tag == 'overload' then
      table.insert(doc.overloads, rest)
      current = nil
    elseif tag == 'alias' then
      local name, of_type = rest:match '^(%S+) ?(.*)$'
      doc.alias, doc.alias_type = name, of_type
    elseif tag == 'class' then
      doc.class = rest:match '^[%w_.]+'
    elseif tag then
      current = nil
    elseif line:find '^|' then
      local value, text = line:match "^| '(.-)' # (.*)$"
      table.insert(doc.values, { name = value, text = text })
    elseif current then
      current.text = current.text .. ' ' .. line
    else
      table.insert(doc.text, line)
    end
  end
  return doc
end

-- The sections of a file, each { title =, introduction =, entries = }. A comment `-- Title ----` begins a section, and the `--`
-- lines below it are its introduction, a list of lines. An entry has the line that its comment declares as `declaration`.
function declarations.sections(text)
  local sections, section = {}, nil
  local lines = {}
  local function finish(declaration)
    if #lines > 0 and section then
      local doc = parse(lines)
      doc.declaration = declaration
      table.insert(section.entries, doc)
    end
    lines = {}
  end
  local in_introduction = false
  for line in text:gmatch '(.-)\n' do
    local comment = line:match '^%-%-%-(.*)$'
    local title = line:match '^%-%- (.-) %-%-%-+$'
    if title then
      section = { title = title, introduction = {}, entries = {} }
      table.insert(sections, section)
      in_introduction = true
    elseif comment then
      in_introduction = false
      table.insert(lines, comment)
    elseif in_introduction and (line == '--' or line:find '^%-%- [^%[]') then
      table.insert(section.introduction, line:sub(4))
    elseif line == '' then
      in_introduction = false
      finish(nil)
    else
      finish(line)
    end
  end
  finish(nil)
  return sections
end

-- The parts of a comment in their order: paragraphs { kind = 'text', 'errors' or 'origin', text = }, and code blocks { kind =
-- 'code', lines = } with their fences. What errors there are and where an entry comes from begin paragraphs.
function declarations.parts(comment)
  local parts, words, code = {}, {}, nil
  local function finish()
    local text = table.concat(words, ' ')
    words = {}
    local errors, origin = text:find '%f[%w]Errors: ', text:find '%f[%w]Origin: '
    for _, part in ipairs {
      { kind = 'text', text = text:sub(1, (errors or origin or #text + 1) - 1) },
      { kind = 'errors', text = errors and text:sub(errors, (origin or #text + 1) - 1) or '' },
      { kind = 'origin', text = origin and text:sub(origin) or '' },
    } do
      if part.text:find '%S' then
        for _, label in ipairs { 'Errors:', 'Origin:', 'Differs from Torch7:', 'Differs from PyTorch:' } do
          part.text = part.text:gsub('%f[%w]' .. label, '**%0**')
        end
        parts[#parts + 1] = part
      end
    end
  end
  for _, line in ipairs(comment) do
    local is_fence = line:find '^```'
    if is_fence and not code then
      finish()
      code = { kind = 'code', lines = { line } }
    elseif code then
      table.insert(code.lines, line)
      if is_fence then
        parts[#parts + 1], code = code, nil
      end
    elseif line == '' then
      finish()
    else
      table.insert(words, line)
    end
  end
  finish()
  -- An example stands before the origin, which closes an entry.
  for i = 2, #parts do
    if parts[i].kind == 'code' and parts[i - 1].kind == 'origin' then
      parts[i], parts[i - 1] = parts[i - 1], parts[i]
    end
  end
  return parts
end

return declarations

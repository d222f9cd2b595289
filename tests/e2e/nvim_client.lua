-- Neovim's own language client against the server, without a screen: open, look, hover, edit, save, look again, quit.
--
-- Started as `nvim --headless -u NONE -i NONE -n -S nvim_client.lua`. GRAPHBREAK_NVIM_JOB names a JSON file:
--   command          the server's command line, a list
--   root, file       the workspace folder and the file to open, absolute
--   initialization_options
--   wait_ms          how long to wait for diagnostics at most, each time
--   opened           lines (from 0) that must carry a diagnostic before the first look
--   hover            {line, character} of the hover request
--   edit             {line, text}: the text goes in as a new line before this one
--   edited           lines that must carry a diagnostic before the second look
--   output           the JSON file to write: {opened, hover, edited, exit} or {..., error}
--
-- Runs on Neovim 0.7 (Debian 12) and newer.

local function read_json(path)
  local file = assert(io.open(path, "r"))
  local text = file:read("*a")
  file:close()
  return vim.fn.json_decode(text)
end

local function write_json(path, value)
  local file = assert(io.open(path, "w"))
  file:write(vim.fn.json_encode(value))
  file:close()
end

-- 0.7 keeps the code under user_data only.
local function code_of(diagnostic)
  local from_server = (diagnostic.user_data or {}).lsp or {}
  return diagnostic.code or from_server.code
end

local function shown(buffer)
  local list = {}
  for _, diagnostic in ipairs(vim.diagnostic.get(buffer)) do
    table.insert(list, {
      lnum = diagnostic.lnum,
      col = diagnostic.col,
      end_lnum = diagnostic.end_lnum,
      end_col = diagnostic.end_col,
      severity = diagnostic.severity,
      code = code_of(diagnostic),
      source = diagnostic.source,
      message = diagnostic.message,
    })
  end
  table.sort(list, function(a, b)
    return a.lnum < b.lnum or (a.lnum == b.lnum and a.col < b.col)
  end)
  return list
end

local function covers(diagnostics, lines)
  local found = {}
  for _, diagnostic in ipairs(diagnostics) do
    found[diagnostic.lnum] = true
  end
  for _, line in ipairs(lines) do
    if not found[line] then
      return false
    end
  end
  return true
end

local function wait_for_diagnostics(buffer, lines, wait_ms, ended)
  vim.wait(wait_ms, function()
    return covers(shown(buffer), lines) or ended.code ~= nil
  end, 50)
  if not covers(shown(buffer), lines) then
    local server = ended.code and ("the server ended with " .. ended.code) or "the server is running"
    error("no diagnostics on lines " .. vim.inspect(lines) .. ", only " .. vim.inspect(shown(buffer)) .. "; " .. server)
  end
  return shown(buffer)
end

-- Returns the client's id and a table that holds the server's exit code once it has ended.
local function start_server(job, buffer)
  local ended = {}
  local config = {
    name = "graphbreak",
    cmd = job.command,
    root_dir = job.root,
    init_options = job.initialization_options,
    on_exit = function(code, signal)
      ended.code, ended.signal = code, signal
    end,
  }
  local id
  if vim.lsp.start then -- 0.8 and newer
    id = vim.lsp.start(config, { bufnr = buffer })
  else
    id = vim.lsp.start_client(config)
    vim.lsp.buf_attach_client(buffer, id)
  end
  return assert(id, "the server did not start"), ended
end

local function stop_server(id, ended)
  local client = vim.lsp.get_client_by_id(id)
  if client and vim.fn.has("nvim-0.11") == 1 then
    client:stop()
  elseif client then
    client.stop()
  end
  if not vim.wait(20000, function()
    return ended.code ~= nil
  end, 50) then
    error("the server did not exit after shutdown")
  end
end

local function hover_text(buffer, file, position)
  local params = { textDocument = { uri = vim.uri_from_fname(file) }, position = position }
  local answers = assert(vim.lsp.buf_request_sync(buffer, "textDocument/hover", params, 20000))
  for _, answer in pairs(answers) do
    if type(answer.result) == "table" then
      local contents = answer.result.contents
      return type(contents) == "table" and contents.value or contents
    end
  end
  error("no hover: " .. vim.inspect(answers))
end

local function session(job, report)
  vim.cmd("edit " .. vim.fn.fnameescape(job.file))
  vim.bo.filetype = "python"
  local buffer = vim.api.nvim_get_current_buf()
  local id, ended = start_server(job, buffer)

  report.opened = wait_for_diagnostics(buffer, job.opened, job.wait_ms, ended)
  report.hover = hover_text(buffer, job.file, job.hover)

  vim.api.nvim_buf_set_lines(buffer, job.edit.line, job.edit.line, true, { job.edit.text })
  vim.cmd("write")
  report.edited = wait_for_diagnostics(buffer, job.edited, job.wait_ms, ended)

  stop_server(id, ended)
  report.exit = ended
end

local job = read_json(vim.env.GRAPHBREAK_NVIM_JOB)
local report = {}
local ok, problem = xpcall(session, debug.traceback, job, report)
if not ok then
  report.error = tostring(problem)
end
write_json(job.output, report)
vim.cmd(ok and "qall!" or "cquit 1")

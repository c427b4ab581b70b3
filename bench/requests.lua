-- Sends the requests of a file, one after the other and again from the first.
-- Headers come first, name and value with a tab between, then an empty line. Of the rest a line is
-- METHOD, path and body with tabs between; ########## in a body becomes a number that is never sent
-- twice. Arguments: the file, the first number.

local requests, next_request, number = {}, 0, 0

function init(args)
  number = tonumber(args[2])
  local lines = io.lines(args[1])
  for line in lines do
    if line == "" then
      break
    end
    local name, value = line:match("^([^\t]+)\t(.*)$")
    wrk.headers[name] = value
  end
  for line in lines do
    local method, path, body = line:match("^(%u+)\t([^\t]+)\t(.*)$")
    wrk.headers["Content-Type"] = body ~= "" and "application/vnd.api+json" or nil
    local whole = wrk.format(method, path, nil, body ~= "" and body or nil)
    local first, last = whole:find("##########", 1, true)
    if first then
      whole = { whole:sub(1, first - 1), whole:sub(last + 1) }
    end
    requests[#requests + 1] = whole
  end
end

function request()
  next_request = next_request % #requests + 1
  local whole = requests[next_request]
  if type(whole) == "string" then
    return whole
  end
  number = number + 1
  return whole[1] .. string.format("%010d", number) .. whole[2]
end

function done(summary, latency, _)
  local errors = summary.errors
  io.stderr:write(string.format(
    '{"requests": %d, "microseconds": %d, "p50": %d, "p99": %d, "refused": %d, "broken": %d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    errors.status, errors.connect + errors.read + errors.write + errors.timeout))
end

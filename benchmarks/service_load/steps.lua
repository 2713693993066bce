-- Steps of many cases in turn, each with its number; one action, which leads back to where it was.
local cases = tonumber(os.getenv("CASES"))
local size = tonumber(os.getenv("BATCH") or "1")
local first = tonumber(os.getenv("FIRST") or "0")
local numbers, at, failed, checked = {}, 0, 0, false
local headers = { ["Content-Type"] = "application/json" }

local function step_of(case)
  numbers[case] = (numbers[case] or 0) + 1
  return numbers[case]
end

function request()
  if not checked then  -- wrk makes one request that it does not send
    checked = true
    return wrk.format("GET", "/healthz")
  end
  if size == 1 then
    at = at % cases + 1
    local body = '{"step":' .. step_of(at) .. ',"loss":0.25,"next_state":0}'
    return wrk.format("POST", "/v1/learners/bench/cases/c" .. (first + at) .. "/steps", headers, body)
  end
  local parts = {}
  for place = 1, size do
    at = at % cases + 1
    parts[place] = '{"case":"c' .. (first + at) .. '","step":' .. step_of(at) .. ',"loss":0.25,"next_state":0}'
  end
  return wrk.format("POST", "/v1/learners/bench/steps:batch", headers, '{"steps":[' .. table.concat(parts, ",") .. "]}")
end

function response(status, _, body)
  if status ~= 200 or (size > 1 and string.find(body, '"problem"', 1, true)) then
    failed = failed + 1
    if failed <= 3 then io.stderr:write(status .. " " .. string.sub(body, 1, 300) .. "\n") end
    thread_failed = failed
  end
end

local threads = {}
function setup(thread) table.insert(threads, thread) end

function done(summary, latency, _)
  local wrong = 0
  for _, thread in ipairs(threads) do wrong = wrong + (thread:get("thread_failed") or 0) end
  io.write(string.format('{"requests":%d,"seconds":%.6f,"p50":%.3f,"p99":%.3f,"wrong":%d}\n', summary.requests,
    summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    wrong + summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout))
end

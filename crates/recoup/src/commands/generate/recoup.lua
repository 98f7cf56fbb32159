-- Recoup's findings as fields, columns and filters of Wireshark and tshark.
--
-- They come from the comments of a capture that `recoup annotate` wrote, or, for a capture without them, from the CSV files that a
-- preference names:
--   recoup analyze --retransmissions --format csv CAPTURE > retransmissions.csv
--   recoup analyze --episodes --format csv CAPTURE > episodes.csv
--   tshark -r CAPTURE -o recoup.csv:retransmissions.csv,episodes.csv -Y 'recoup.verdict == "spurious"'
--
-- Lua 5.1 to 5.4. The file stands in the folder of personal or global Lua plugins (Help, About, Folders), or after -X lua_script:.

local recoup = Proto("recoup", "Recoup: TCP loss recovery")

local fields = {
    trigger = ProtoField.string("recoup.trigger", "Trigger", base.UNICODE, "Why the retransmission was sent"),
    verdict = ProtoField.string("recoup.verdict", "Verdict", base.UNICODE, "Whether the retransmission was needed"),
    evidence = ProtoField.string("recoup.evidence", "Evidence", base.UNICODE, "What the verdict rests on"),
    original = ProtoField.framenum("recoup.original", "Repeats", base.NONE, nil, nil, "The frame whose data it repeats"),
    detection_ms = ProtoField.double("recoup.detection_ms", "Detection (ms)", "From the first transmission to this one, in ms"),
    cause = ProtoField.string("recoup.cause", "Cause", base.UNICODE, "What lost the time of the episode"),
    cost_ms = ProtoField.double("recoup.cost_ms", "Cost (ms)", "How much later data was acknowledged, in ms: at the first frame of each episode"),
    episode_cost_ms = ProtoField.double("recoup.episode_cost_ms", "Cost of its episode (ms)", "The same, at each retransmission of the episode and at its last frame"),
    began = ProtoField.framenum("recoup.began", "Began", base.NONE, nil, nil, "The first frame of the episode that ends here"),
}
recoup.fields = fields

recoup.prefs.csv = Pref.string("CSV files", "",
    "Files of recoup analyze --retransmissions or --episodes --format csv, separated by commas, for captures without comments")

-- In the order in which they are shown.
local names = { "trigger", "verdict", "evidence", "original", "detection_ms", "cause", "cost_ms", "episode_cost_ms", "began" }
local is_text = { trigger = true, verdict = true, evidence = true, cause = true }

local comment_of = Field.new("frame.comment")

-- What the CSV files say: for each frame a list of tables.
local by_frame = {}

local function say(frame, said)
    by_frame[frame] = by_frame[frame] or {}
    table.insert(by_frame[frame], said)
end

-- The cells of a line of CSV. Cells of these files hold no line ends.
local function cells(line)
    local found, at = {}, 1
    line = line:gsub("\r$", "")
    while at <= #line + 1 do
        if line:sub(at, at) == '"' then
            local text, from = "", at + 1
            while true do
                local quote = line:find('"', from, true)
                if not quote then
                    quote = #line + 1
                end
                text = text .. line:sub(from, quote - 1)
                if line:sub(quote + 1, quote + 1) ~= '"' then
                    at = quote + 2
                    break
                end
                text, from = text .. '"', quote + 2
            end
            found[#found + 1] = text
        else
            local comma = line:find(",", at, true) or #line + 1
            found[#found + 1] = line:sub(at, comma - 1)
            at = comma + 1
        end
    end
    return found
end

-- The rows of a CSV file, each a table by the names of its columns.
local function read_csv(name)
    local file, why = io.open(name, "r")
    if not file then
        report_failure("recoup.csv: " .. why)
        return {}
    end
    local columns, rows
    for line in file:lines() do
        if not columns then
            columns, rows = cells(line), {}
        else
            local row = {}
            for number, cell in ipairs(cells(line)) do
                row[columns[number] or number] = cell
            end
            rows[#rows + 1] = row
        end
    end
    file:close()
    for _, column in ipairs(columns or {}) do
        if column == "frame" then
            return rows
        end
    end
    report_failure("recoup.csv: " .. name .. ": expected a column `frame`, as recoup analyze --format csv writes it")
    return {}
end

local function sender(row, address)
    return row.connection .. "/" .. (row.capture_point or "") .. "/" .. address
end

-- Says the same as the comments of `recoup annotate` would. Rows of each sender are in the order of their frames.
local function say_rows(rows)
    local episodes = {}
    for _, row in ipairs(rows) do
        local first, last, cost = tonumber(row.frame), tonumber(row.last_frame), tonumber(row.lost_ms)
        if row.cause and first and cost and cost > 0 then
            say(first, { cause = row.cause, cost_ms = cost })
            if last and last > first then
                say(last, { cause = row.cause, episode_cost_ms = cost, began = first })
            end
        end
        if row.cause and first and last and row.trigger ~= "" then
            local address = row.host:find(":", 1, true) and "[" .. row.host .. "]:" or row.host .. ":"
            local of = sender(row, address .. row.port)
            episodes[of] = episodes[of] or { at = 0 }
            table.insert(episodes[of], { first = first, last = last, cause = row.cause, cost = cost })
        end
    end
    for _, row in ipairs(rows) do
        local frame = tonumber(row.frame)
        if row.evidence and frame then
            local said = { trigger = row.trigger, verdict = row.verdict, evidence = row.evidence, detection_ms = row.detection_ms }
            local of = episodes[sender(row, row.src)] or { at = 0 }
            while of[of.at + 1] and of[of.at + 1].first <= frame do
                of.at = of.at + 1
            end
            local episode = of[of.at]
            if episode and frame <= episode.last then
                said.cause, said.episode_cost_ms = episode.cause, episode.cost
            end
            say(frame, said)
        end
    end
end

local files_read
local function read_files()
    local files = recoup.prefs.csv
    if files == files_read then
        return
    end
    files_read, by_frame = files, {}
    local rows = {}
    for name in files:gmatch("[^,]+") do
        for _, row in ipairs(read_csv(name)) do
            rows[#rows + 1] = row
        end
    end
    say_rows(rows)
end

recoup.init = read_files
recoup.prefs_changed = read_files

-- What a comment of `recoup annotate` says; nil for another comment.
local function parse(comment)
    local rest = comment:match("^Recoup: (.*)$")
    if not rest then
        return nil
    end
    local said = {}
    for key, value in rest:gmatch("([%w_]+)=([^;]*)") do
        said[key] = value
    end
    return said
end

-- Adds what is said to the tree. `shown`: what was said of the frame before, which is not repeated, but for costs, which add up.
local function show(tree, said, shown)
    for _, name in ipairs(names) do
        local value = said[name]
        if not is_text[name] then
            value = tonumber(value)
        end
        local known = name .. "=" .. tostring(value)
        if value and value ~= "" and (name == "cost_ms" or not shown[known]) then
            shown[known] = true
            tree:add(fields[name], value)
        end
    end
end

function recoup.dissector(_, pinfo, tree)
    local all = {}
    for _, comment in ipairs({ comment_of() }) do
        all[#all + 1] = parse(comment.value)
    end
    if #all == 0 then
        all = by_frame[pinfo.number] or all
    end
    if #all == 0 then
        return
    end
    local own, shown = tree:add(recoup), {}
    for _, said in ipairs(all) do
        show(own, said, shown)
    end
end

register_postdissector(recoup)

// An anonymizer that can be audited, in plain Node.js: the JSON form of the oracle protocol, without a framework.
// Start it with: PORT=8080 node server.js  (with TOKEN=… it wants that token). Everything below `anonymize` is the
// protocol and stays as it is when the anonymizer is another one.

"use strict";
const crypto = require("node:crypto");
const http = require("node:http");

// ---- the anonymizer: ages to decades, and values that fewer than K people share to "*"

const K = Number(process.env.K || 3);

function anonymize(rows, columns) {
  return columns.map(({ name, kind, secret }) => {
    const cells = rows.map((row) => row[name]);
    if (secret) return cells;
    if (kind === "number") return cells.map((cell) => (cell === null ? "*" : decade(cell)));
    const count = new Map();
    for (const cell of cells) count.set(cell, (count.get(cell) || 0) + 1);
    return cells.map((cell) => (cell !== null && count.get(cell) >= K ? String(cell) : "*"));
  });
}

function decade(value) {
  const low = Math.floor(value / 10) * 10;
  return `[${low}, ${low + 10})`;
}

const CARD = {
  name: "decades in node",
  version: "1",
  releases: "microdata",
  randomized: false,
  keeps_data: true,
  max_draws: 1000,
};

// ---- the protocol

const REQUEST_BYTES = 64 * 1024 * 1024;
const MOST_DATASETS = 8;
const kept = new Map(); // digest -> dataset, the longest unused first

class Problem extends Error {
  constructor(status, code, message) {
    super(message);
    Object.assign(this, { status, code });
  }
}

const invalid = (message) => new Problem(400, "INVALID", message);

function describe() {
  return { protocol: { major: 1, minor: 0 }, card: CARD, request_bytes: REQUEST_BYTES };
}

function put(digest, body) {
  const found = crypto.createHash("sha256").update(body).digest("hex");
  if (found !== digest) throw invalid(`the data has the digest ${found}`);
  kept.delete(digest);
  kept.set(digest, parsed(body));
  if (kept.size > MOST_DATASETS) kept.delete(kept.keys().next().value);
  return { digest };
}

function answer(body) {
  const question = parsed(body);
  const { table, schema } = question.dataset || recalled(question.digest);
  if (!table || !schema) throw invalid("the dataset needs a schema and a table");
  const draws = question.draws === undefined ? 1 : question.draws;
  if (!(Number.isInteger(draws) && draws >= 1 && draws <= CARD.max_draws)) throw invalid("draws must be from 1 to 1000");
  const rows = spelledOut(table, question.drop);
  const columns = [
    ...schema.quasi.map(({ name, kind }) => ({ name, kind, secret: false })),
    ...schema.sensitive.map(({ name, kind }) => ({ name, kind, secret: true })),
  ];
  const released = anonymize(rows, columns).map((cells, at) => column(columns[at].name, cells));
  const release = { table: { rows: rows.length, columns: released } };
  return { releases: Array(draws).fill(release) };
}

function recalled(digest) {
  const data = kept.get(digest);
  if (data === undefined) throw new Problem(404, "UNKNOWN_DATA", "nothing is kept under this digest");
  kept.delete(digest);
  kept.set(digest, data);
  return data;
}

// Rows as objects, less the dropped one; -1 is a missing cell.
function spelledOut(table, drop) {
  if (drop !== undefined && drop !== null && !(drop >= 0 && drop < table.rows)) throw invalid("there is no such row to drop");
  const rows = [];
  for (let row = 0; row < table.rows; row++) {
    if (row === drop) continue;
    const cells = table.columns.map(({ name, palette, codes }) => [name, codes[row] < 0 ? null : palette[codes[row]]]);
    rows.push(Object.fromEntries(cells));
  }
  return rows;
}

// A column as a palette of distinct cells and a position in it for each row.
function column(name, cells) {
  const place = new Map();
  const codes = cells.map((cell) => {
    if (cell === null) return -1;
    if (!place.has(cell)) place.set(cell, place.size);
    return place.get(cell);
  });
  return { name, palette: [...place.keys()], codes };
}

function parsed(body) {
  try {
    const value = JSON.parse(body.toString("utf8"));
    if (value !== null && typeof value === "object") return value;
  } catch {
    // not JSON: refused below
  }
  throw invalid("the body is not a JSON object");
}

// ---- HTTP

async function read(request) {
  const pieces = [];
  let size = 0;
  for await (const piece of request) {
    size += piece.length;
    if (size <= REQUEST_BYTES) pieces.push(piece); // the rest is read and forgotten, so that the reply is heard
  }
  if (size > REQUEST_BYTES) throw new Problem(413, "TOO_LARGE", `more than ${REQUEST_BYTES} bytes`);
  return Buffer.concat(pieces);
}

function admit(request) {
  const expected = Buffer.from(`Bearer ${process.env.TOKEN}`);
  const given = Buffer.from(request.headers.authorization || "");
  const same = given.length === expected.length && crypto.timingSafeEqual(given, expected);
  if (process.env.TOKEN && !same) throw new Problem(401, "UNAUTHENTICATED", "this oracle needs its token");
}

function routed(request, body) {
  const { method, url } = request;
  if (method === "GET" && url === "/v1/card") return describe();
  const json = (request.headers["content-type"] || "").startsWith("application/json");
  if (method !== "GET" && !json) throw new Problem(415, "UNSUPPORTED", "only application/json is spoken here");
  if (method === "PUT" && url.startsWith("/v1/data/")) return put(url.slice("/v1/data/".length), body);
  if (method === "POST" && url === "/v1/answers") return answer(body);
  throw new Problem(501, "UNSUPPORTED", `there is no ${method} ${url.slice(0, 100)} here`);
}

async function reply(request, response) {
  let status = 200;
  let said;
  try {
    const body = await read(request);
    admit(request);
    said = routed(request, body);
  } catch (error) {
    const known = error instanceof Problem;
    status = known ? error.status : 500;
    said = { code: known ? error.code : "FAILED", message: String(error.message).slice(0, 300) };
  }
  const text = JSON.stringify(said);
  response.writeHead(status, { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(text) });
  response.end(text);
}

const server = http.createServer(reply);
server.listen(Number(process.env.PORT || 8080), "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${server.address().port}`);
});
process.on("SIGTERM", () => server.close(() => process.exit(0)));

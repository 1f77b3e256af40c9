// Measures how long heavy calls hold up heartbeats: beside each call in turn, a process sends a
// heartbeat every 20 ms. How long the main thread worked while one of them waited is counted by the
// kernel, so that other work of the machine does not decide.
import { join } from "node:path";
import { PAGE_PATHS, routes } from "../support/routes.ts";
import { runBinary } from "../support/binary.ts";
import type { BenchSize, PartResult } from "./bench-part.ts";
import { waitForNoCheckpoint } from "./checkpoint-watcher.ts";
import { atMost, formatColumns, formatNumber, type Figure } from "./goals.ts";
import { PRODUCT, userOf } from "./populated-site.ts";
import { BenchServer, makeBenchFolder, makePopulatedSite } from "./servers.ts";
import type { Probed } from "./stall-probe.ts";

export interface StallSize {
  readonly holders: number;
  readonly auditLines: number;
  /** A call that ends sooner is repeated. */
  readonly secondsPerCall: number;
}

const FLAGS = ["--audit-budget", "0", "--max-places-per-caller", "100000"];
const PLACES = 10_000;
/** Requests that are sent at the same time to fill the queue. */
const PLACES_AT_ONCE = 100;
/** As many as a request may name. */
const USERS_RELEASED = 500;
const MIB = 1024 * 1024;

interface Site {
  readonly url: string;
  readonly folder: string;
}

interface HeavyCall {
  readonly name: string;
  /** Throws if a reply is not the expected one. */
  readonly run: (site: Site) => Promise<void>;
  /** Before the measurement. */
  readonly prepare?: (site: Site) => Promise<void>;
  /** It cannot be done twice. */
  readonly isOnce?: boolean;
  /** So many connections send heartbeats, 50 a second each; default: one. */
  readonly connections?: number;
}

export interface StallRow {
  readonly name: string;
  /** The server had thousands of heartbeats a second: what it did for them is no stall. */
  readonly isLoaded: boolean;
  /** The heartbeats that were sent meanwhile. */
  readonly heartbeats: number;
  /** In milliseconds, of one call. */
  readonly duration: number;
  readonly worstWait: number;
  readonly wait999: number;
  readonly worstWork: number;
  readonly work999: number;
  readonly worstControl: number;
}

/** Of all heavy calls, or of those whose names contain one of the texts. */
export async function measureStalls(
  { stalls }: BenchSize,
  only: readonly string[],
): Promise<PartResult> {
  const isMeasured = ({ name }: HeavyCall): boolean =>
    only.length === 0 || only.some((text) => name.includes(text));
  const rows = await measureRows(stalls, HEAVY_CALLS.filter(isMeasured));
  const figures = rows.flatMap(figuresOf);
  const site = `${formatNumber(stalls.holders)} registrations, ${formatNumber(stalls.auditLines)} audit lines`;
  return { figures, text: `${site}; milliseconds\n${tableOf(rows)}`, wrong: [] };
}

const figuresOf = ({ name, isLoaded, worstWait, worstWork, work999 }: StallRow): Figure[] =>
  isLoaded
    ? [figureOf("longest wait of a heartbeat", name, worstWait, 100)]
    : [
        figureOf("99.9 % of main-thread work before a heartbeat", name, work999, 25),
        figureOf("longest main-thread work before a heartbeat", name, worstWork, 100),
      ];

const figureOf = (what: string, name: string, value: number, limit: number): Figure => ({
  what: `${what}, ${name}`,
  value,
  unit: "ms",
  goal: atMost(limit),
});

const tableOf = (rows: readonly StallRow[]): string =>
  formatColumns([
    ["beside", "takes", "heartbeats", "wait 99.9 %", "worst", "work 99.9 %", "worst", "control"],
    ...rows.map((row) => [
      row.name,
      ...[
        row.duration,
        row.heartbeats,
        row.wait999,
        row.worstWait,
        row.work999,
        row.worstWork,
        row.worstControl,
      ].map(formatNumber),
    ]),
  ]);

/** One row for each heavy call, and first one without any. */
export async function measureRows(
  size: StallSize,
  heavyCalls: readonly HeavyCall[] = HEAVY_CALLS,
): Promise<StallRow[]> {
  const folder = join(makeBenchFolder(), "data");
  await makeYearSite(folder, size);
  const server = await BenchServer.startBerth(folder, size.holders, FLAGS);
  const idle = await BenchServer.startBerth(
    await makePopulatedSite(join(makeBenchFolder(), "idle"), 1),
    1,
  );
  const rows: StallRow[] = [];
  const site = { url: server.url, folder };
  try {
    for (const call of heavyCalls) {
      await call.prepare?.(site);
      await waitForNoCheckpoint(server.pid);
      rows.push(await measureRow(call, { server, idle, site, size }));
    }
  } finally {
    await server.kill();
    await idle.kill();
  }
  return rows;
}

interface Measurement {
  readonly server: BenchServer;
  readonly idle: BenchServer;
  readonly site: Site;
  readonly size: StallSize;
}

async function measureRow(
  { name, run, isOnce = false, connections = 1 }: HeavyCall,
  { server, idle, site, size }: Measurement,
): Promise<StallRow> {
  const probe = startProbe([server.url, server.pid, idle.url, size.holders, connections]);
  await probe.ready;
  const begin = performance.now();
  const enough = begin + size.secondsPerCall * 1_000;
  let calls = 0;
  for (let isLast = false; !isLast; calls += 1) {
    await run(site);
    isLast = isOnce || performance.now() >= enough;
  }
  const duration = (performance.now() - begin) / calls;
  // What the call left to do counts as well.
  await Bun.sleep(Math.max(200, enough - performance.now()));
  const { waits, work, control } = await probe.stop();
  return {
    name,
    isLoaded: connections > 1,
    duration,
    heartbeats: waits.length,
    worstWait: Math.max(...waits),
    wait999: percentile(waits, 0.999),
    worstWork: Math.max(...work),
    work999: percentile(work, 0.999),
    worstControl: Math.max(...control),
  };
}

function startProbe(args: readonly (string | number)[]) {
  const ready = Promise.withResolvers<void>();
  const result = Promise.withResolvers<Probed>();
  const script = join(import.meta.dir, "stall-probe.ts");
  const child = Bun.spawn([process.execPath, script, ...args.map(String)], {
    stdio: ["ignore", "ignore", "inherit"],
    ipc: (message: "ready" | Probed) =>
      message === "ready" ? ready.resolve() : result.resolve(message),
    onExit() {
      const error = new Error("the heartbeats failed");
      ready.reject(error);
      result.reject(error);
    },
  });
  // It can fail before it is awaited.
  result.promise.catch(() => {});
  return {
    ready: ready.promise,
    stop: (): Promise<Probed> => {
      child.send("stop");
      return result.promise;
    },
  };
}

const percentile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.ceil(values.length * share) - 1] ?? NaN;

async function makeYearSite(folder: string, size: StallSize): Promise<void> {
  const script = join(import.meta.dir, "year-site.ts");
  const args = [folder, String(size.holders), String(size.auditLines)];
  if ((await Bun.spawn([process.execPath, script, ...args]).exited) !== 0)
    throw new Error("the site of a year could not be created");
}

async function request(
  { url }: Site,
  method: string,
  path: string,
  options: { readonly body?: string; readonly headers?: Record<string, string> } = {},
  expected: readonly number[] = [200],
): Promise<string> {
  const headers = { "content-type": "application/json", ...options.headers };
  const { body = null } = options;
  const reply = await fetch(url + path, { method, headers, body });
  const text = await reply.text();
  if (!expected.includes(reply.status))
    throw new Error(`${method} ${path}: ${reply.status} ${text.slice(0, 200)}`);
  return text;
}

const ADMIN = "/api/admin/v1";

const get = (path: string): HeavyCall => ({
  name: `GET ${path.replace(ADMIN, "").replaceAll(/\d{4}-\d\d-\d\dT[\d:]+Z/g, "…")}`,
  run: async (site) => void (await request(site, "GET", path)),
});

const post = (path: string, fields: object = {}, name = `POST ${path}`): HeavyCall => ({
  name,
  run: async (site) => {
    await request(site, "POST", `${ADMIN}${path}`, { body: JSON.stringify(fields) });
  },
});

const checkRules = (what: string, text: string): HeavyCall =>
  post("/rules/check", { text }, `POST /rules/check, ${what}`);

const command = (...words: readonly string[]): HeavyCall => ({
  name: `berth ${words.join(" ")}`,
  run: async ({ folder }) => {
    const { code, stderr } = await runBinary([...words, "--data", folder]);
    // `doctor` and `check` end with 1 if they found something.
    if (code > 1) throw new Error(`berth ${words.join(" ")}: ${stderr}`);
  },
});

const MONTH = 30 * 24 * 60 * 60_000;
const daysAgo = (months: number): string =>
  `${new Date(Date.now() - months * MONTH).toISOString().slice(0, 19)}Z`;
const LONG_REPORT = `${ADMIN}/report?from=${daysAgo(18)}&to=${daysAgo(0)}`;

const MANY_RULES = Array.from(
  { length: 8_000 },
  (_, index) => `[[rule]]\nproduct = "p${index}"\nlimit.each_user = 1\n`,
).join("\n");
const MANY_PATTERNS = [
  "[groups]",
  ...Array.from(
    { length: 1_000 },
    (_, group) =>
      `g${group}.users = [${Array.from({ length: 10 }, (_, user) => `"u${group}-${user}*"`).join(", ")}]`,
  ),
  `[[rule]]\nproduct = "${PRODUCT}"\ndeny = ["g7"]\n`,
].join("\n");
const DEEP = `a = ${"[".repeat(MIB / 4)}${"]".repeat(MIB / 4)}\n`;
const LONG_QUEUE = `[[rule]]\nproduct = "full"\nqueue.max_waiting = ${PLACES}\n`;

const applyRules = async (site: Site, text: string): Promise<void> => {
  const body = JSON.stringify({ text });
  await request(site, "PUT", `${ADMIN}/rules`, { body, headers: { "If-Match": "*" } });
};

async function fillQueue(site: Site): Promise<void> {
  await applyRules(site, LONG_QUEUE);
  const register = async (index: number): Promise<void> => {
    const body = JSON.stringify({ product: "full", user: `waiting-${index}` });
    const headers = { Prefer: "wait=0" };
    await request(site, "POST", "/api/v4/register", { body, headers }, [200, 400]);
  };
  for (let first = 0; first <= PLACES; first += PLACES_AT_ONCE) {
    await Promise.all(
      Array.from({ length: PLACES_AT_ONCE }, (_, index) => register(first + index)),
    );
  }
}

const isOfAdministration = (path: string): boolean =>
  path.startsWith(ADMIN) || path === "/metrics" || PAGE_PATHS.includes(path);

/** Paths that are measured alone, or need what this site does not have. */
const NOT_TOGETHER = new Set([
  `${ADMIN}/stream`,
  `${ADMIN}/report`,
  `${ADMIN}/report/what-if`,
  `${ADMIN}/registrations`,
  `${ADMIN}/queue`,
  `${ADMIN}/audit/csv`,
  `${ADMIN}/audit/export`,
  `${ADMIN}/doctor`,
  `${ADMIN}/verify`,
  `${ADMIN}/usage`,
]);

/** Every other route of administration that reads, one after the other. */
const OTHER_READS: HeavyCall = {
  name: "all other GET of administration",
  run: async (site) => {
    for (const [path, methods] of routes) {
      if (!("GET" in methods) || !isOfAdministration(path) || NOT_TOGETHER.has(path)) continue;
      // Some of them need parameters, or a pair.
      await request(site, "GET", path, {}, [200, 400, 404, 409, 503]);
    }
  },
};

/** Each covers a month of the year at most. */
const MAKE_STATEMENTS: HeavyCall = {
  name: "POST /statements, of each vendor",
  isOnce: true,
  run: async (site) => {
    const vendors = JSON.parse(await request(site, "GET", `${ADMIN}/statements`)) as {
      readonly vendor: string;
    }[];
    for (const { vendor } of vendors) {
      await request(site, "POST", `${ADMIN}/statements`, { body: JSON.stringify({ vendor }) });
    }
  },
};

const STREAMS: HeavyCall = {
  name: "10 streams of the page",
  run: async ({ url }) => {
    const stop = new AbortController();
    const streams = Array.from({ length: 10 }, async () => {
      await (await fetch(`${url}${ADMIN}/stream`, { signal: stop.signal })).text();
    });
    await Bun.sleep(2_000);
    stop.abort();
    await Promise.allSettled(streams);
  },
};

const HEAVY_CALLS: readonly HeavyCall[] = [
  { name: "nothing", run: () => Bun.sleep(1_000) },
  OTHER_READS,
  STREAMS,
  get(`${ADMIN}/registrations`),
  get(`${ADMIN}/registrations/slice?limit=1000`),
  get(`${ADMIN}/usage`),
  get(`${ADMIN}/audit/csv`),
  get(`${ADMIN}/audit/export`),
  get(`${ADMIN}/audit?user=nobody`),
  get(`${ADMIN}/report`),
  { ...get(LONG_REPORT), isOnce: true },
  { ...get(`${LONG_REPORT}&sessions=true&rows=100000`), isOnce: true },
  {
    ...get(LONG_REPORT),
    name: "GET /report of 18 months, and 5,000 heartbeats a second",
    connections: 100,
  },
  { ...get(`${ADMIN}/report/what-if?product=${PRODUCT}&slots=100..104`), isOnce: true },
  MAKE_STATEMENTS,
  { ...post("/usage/rebuild"), isOnce: true },
  get(`${ADMIN}/verify`),
  get(`${ADMIN}/doctor`),
  post("/backup"),
  post("/backups"),
  post("/support-bundle"),
  command("slots"),
  command("report"),
  command("audit"),
  checkRules("nested deeply", DEEP),
  checkRules("8,000 rules", MANY_RULES),
  checkRules("10,000 patterns", MANY_PATTERNS),
  {
    ...get(`${ADMIN}/queue`),
    name: `GET /queue, ${formatNumber(PLACES)} places`,
    prepare: fillQueue,
  },
  { name: "PUT /rules, 10,000 patterns", run: (site) => applyRules(site, MANY_PATTERNS) },
  {
    ...post("/registrations/release/users", {
      product: PRODUCT,
      users: Array.from({ length: USERS_RELEASED }, (_, index) => userOf(index)).join("\n"),
    }),
    isOnce: true,
  },
  { ...post("/registrations/release/all", { product: PRODUCT }), isOnce: true },
];

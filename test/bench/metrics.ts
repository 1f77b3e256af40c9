// Measures a scrape of /metrics at the largest site, and what a scrape every second costs: the same
// heartbeats on the same server with and without it, in turns.
import { join } from "node:path";
import type { BenchSize, PartResult } from "./bench-part.ts";
import { noticeCheckpoint, waitForNoCheckpoint } from "./checkpoint-watcher.ts";
import { atLeast, atMost, formatNumber, median } from "./goals.ts";
import type { RunResult } from "./run-load.ts";
import { BenchServer, makeBenchFolder, makePopulatedSite } from "./servers.ts";
import { warmUp } from "./speed.ts";

const CONNECTIONS = 64;
const SCRAPES = 200;
const SCRAPE_INTERVAL = 1_000;
const PAIRS = 10;
/** Long enough for several scrapes. */
const RUN_SECONDS = 3;
const MAX_ATTEMPTS = 4;

export async function measureMetrics(size: BenchSize): Promise<PartResult> {
  const registrations = Math.max(...size.registrations);
  const folder = await makePopulatedSite(
    join(makeBenchFolder(), "data"),
    registrations,
    "distinct-addresses",
  );
  const server = await BenchServer.startBerth(folder, registrations);
  await warmUp(server, size);
  const durations: number[] = [];
  for (let scrape = 0; scrape < SCRAPES; scrape += 1) durations.push(await scrapeOnce(server));
  const pairs: { readonly scraped: RunResult; readonly alone: RunResult }[] = [];
  for (let pair = 0; pair < PAIRS; pair += 1) {
    // The order is reversed in every other pair.
    const first = await runHeartbeats(server, pair % 2 === 1);
    const second = await runHeartbeats(server, pair % 2 === 0);
    const [alone, scraped] = pair % 2 === 0 ? [first, second] : [second, first];
    pairs.push({ scraped, alone });
  }
  const rates = pairs.map(({ scraped, alone }) => scraped.perSecond / alone.perSecond);
  const times = pairs.map(({ scraped, alone }) => scraped.cpu / alone.cpu);
  await server.kill();
  const sorted = durations.toSorted((a, b) => a - b);
  const p99 = sorted[Math.floor(SCRAPES * 0.99)] ?? NaN;
  const at = `at ${formatNumber(registrations)} registrations`;
  return {
    figures: [
      {
        what: `scrape of the metrics ${at}`,
        value: median(durations),
        unit: "ms",
        goal: atMost(5),
      },
      {
        what: `rate of heartbeats with a scrape every second ${at}, compared with none`,
        value: median(rates),
        unit: "x",
        goal: atLeast(0.97),
      },
      {
        what: `processor time of heartbeats with a scrape every second ${at}, compared with none`,
        value: median(times),
        unit: "x",
        goal: null,
      },
    ],
    text: [
      `${SCRAPES} scrapes ${at}: median ${median(durations).toFixed(2)} ms, 99 % ${p99.toFixed(2)} ms`,
      `with ÷ without a scrape every second, ${PAIRS} pairs of heartbeats`,
      `rate: ${formatRatios(rates)}`,
      `processor time: ${formatRatios(times)}`,
    ].join("\n"),
    wrong: [...server.wrong],
  };
}

const formatRatios = (ratios: readonly number[]): string =>
  ratios.map((ratio) => ratio.toFixed(2)).join(" ");

/** The time until the whole reply has arrived. */
async function scrapeOnce({ url }: BenchServer): Promise<number> {
  const startedAt = performance.now();
  const response = await fetch(`${new URL(url).origin}/metrics`);
  const text = await response.text();
  if (response.status !== 200 || !text.includes("berth_license_slots_in_use"))
    throw new Error(`/metrics answers ${response.status}`);
  return performance.now() - startedAt;
}

/** A run with a checkpoint does not show the effect of the scrapes alone, so it is repeated. */
async function runHeartbeats(server: BenchServer, isScraped: boolean): Promise<RunResult> {
  for (let attempt = 1; ; attempt += 1) {
    await waitForNoCheckpoint(server.pid);
    const scrapes = isScraped ? setInterval(() => void scrapeOnce(server), SCRAPE_INTERVAL) : null;
    const run = server.run({
      kind: "heartbeat",
      connections: CONNECTIONS,
      seconds: RUN_SECONDS,
    });
    const { value, hadCheckpoint } = await noticeCheckpoint(server.pid, run);
    if (scrapes !== null) clearInterval(scrapes);
    if (!hadCheckpoint || attempt === MAX_ATTEMPTS) return value;
  }
}

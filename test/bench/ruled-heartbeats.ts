// Measures what rules cost a heartbeat of a running server: the same heartbeats with many rules and
// without, in turns. Over HTTP, because rules must not be noticed by clients; a heartbeat of the
// domain alone takes a microsecond, of which a larger heap alone takes a few percent.
import { join } from "node:path";
import type { BenchSize, PartResult } from "./bench-part.ts";
import { noticeCheckpoint, waitForNoCheckpoint } from "./checkpoint-watcher.ts";
import { atLeast, formatNumber, median } from "./goals.ts";
import { PRODUCT } from "./populated-site.ts";
import type { RunResult } from "./run-load.ts";
import { BenchServer, makeBenchFolder, makePopulatedSite } from "./servers.ts";
import { warmUp } from "./speed.ts";

const GROUPS = 1_000;
const PATTERNS_PER_GROUP = 10;
/** Of a large site: it makes fewer checkpoints, which would disturb the runs. */
const REGISTRATIONS = 300_000;
const CONNECTIONS = 64;
const PAIRS = 10;
const RUN_SECONDS = 3;
const MAX_ATTEMPTS = 4;

export async function measureRuledHeartbeats(size: BenchSize): Promise<PartResult> {
  const folder = await makePopulatedSite(join(makeBenchFolder(), "data"), REGISTRATIONS);
  const server = await BenchServer.startBerth(folder, REGISTRATIONS);
  await warmUp(server, size);
  const pairs: { readonly ruled: RunResult; readonly plain: RunResult }[] = [];
  for (let pair = 0; pair < PAIRS; pair += 1) {
    // The order is reversed in every other pair.
    const first = await runHeartbeats(server, pair % 2 === 1);
    const second = await runHeartbeats(server, pair % 2 === 0);
    const [plain, ruled] = pair % 2 === 0 ? [first, second] : [second, first];
    pairs.push({ ruled, plain });
  }
  await server.kill();
  const rates = pairs.map(({ ruled, plain }) => ruled.perSecond / plain.perSecond);
  // On a busy machine, the rate varies more than the processor time.
  const perProcessorTime = pairs.map(({ ruled, plain }) => plain.cpu / ruled.cpu);
  const what = `with ${formatNumber(GROUPS)} groups, ${formatNumber(GROUPS * PATTERNS_PER_GROUP)} patterns, of those without`;
  return {
    figures: [
      {
        what: `heartbeats for the same processor time ${what}`,
        value: median(perProcessorTime),
        unit: "x",
        goal: atLeast(0.98),
      },
      { what: `rate of heartbeats ${what}`, value: median(rates), unit: "x", goal: null },
    ],
    text: `with ÷ without rules, ${PAIRS} pairs of heartbeats: ${perProcessorTime.map((ratio) => ratio.toFixed(2)).join(" ")}`,
    wrong: [...server.wrong],
  };
}

/** A run with a checkpoint does not show the effect of the rules alone, so it is repeated. */
async function runHeartbeats(server: BenchServer, isRuled: boolean): Promise<RunResult> {
  await replaceRules(server, isRuled ? RULES : "");
  for (let attempt = 1; ; attempt += 1) {
    await waitForNoCheckpoint(server.pid);
    const run = server.run({ kind: "heartbeat", connections: CONNECTIONS, seconds: RUN_SECONDS });
    const { value, hadCheckpoint } = await noticeCheckpoint(server.pid, run);
    if (!hadCheckpoint || attempt === MAX_ATTEMPTS) return value;
  }
}

async function replaceRules({ url }: BenchServer, text: string): Promise<void> {
  const reply = await fetch(`${new URL(url).origin}/api/admin/v1/rules`, {
    method: "PUT",
    headers: { "content-type": "application/json", "if-match": "*" },
    body: JSON.stringify({ text }),
  });
  if (reply.status !== 200) throw new Error(`the rules were refused: ${await reply.text()}`);
}

const groupOf = (index: number): string => `[groups.group-${index}]
users = ["user-${index}@initrode.example", "x${index}@a", "team${index}-*", "contractor-${index}*"]
hosts = ["workstation-${index}.engineering", "farm${index}-*"]
networks = ["10.${index % 200}.${index % 251}.0/24", "fd00:${index.toString(16)}::/32"]
logins = ["login-${index}", "login-${index}.*"]
ignore_case = ${index % 2 === 0}
`;

const indexes = Array.from({ length: GROUPS }, (_, index) => index);

const RULES = `${indexes.map(groupOf).join("\n")}
[[rule]]
product = "${PRODUCT}"
deny = ["group-999"]
reserve = [${indexes
  .slice(0, 200)
  .map((index) => `{ group = "group-${index}", slots = 1, idle = "lend" }`)
  .join(", ")}]
limit = { each_user = 1000000, each_host = 1000000 }
`;

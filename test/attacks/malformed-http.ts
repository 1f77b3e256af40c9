// `bun run test:attacks raw`: broken HTTP on plain sockets, known tricks and generated ones. Each hides
// a registration where a careless reader finds a second request. What is not HTTP by the letter is
// refused or hung up on, changes nothing, and the next proper request is answered.
import { connect } from "node:net";
import {
  check,
  finish,
  createRandom,
  makeTempFolder,
  seed,
  chooseSize,
} from "../support/suite-harness.ts";
import { PATIENCE } from "../support/patience.ts";
import { checkAfterAttack } from "./after-attack.ts";
import { knownCases, registrationRequest, type MalformedCase } from "./malformed-cases.ts";
import { mutatedCase } from "./malformed-mutations.ts";
import { readStrictly } from "./strict-reader.ts";
import { startTarget } from "./target.ts";
import { RawConnection } from "./raw-connection.ts";

const GENERATED = chooseSize(10_000, 1_000_000);
const CONNECTIONS = 64;
/** Said nothing for so long: it has no more to say. */
const REST = 150;

const target = await startTarget(makeTempFolder(), 1_000_000);
const generated = (index: number): MalformedCase => mutatedCase(index, createRandom(seed + index));

/** Every name that a registration by the letter had. */
const allowed = new Set<string>();
const broken: string[] = [];
let [sent, answers, closed, asked, slowest] = [0, 0, 0, 0, 0];
const unanswered: string[] = [];

/** Everything the server says, until it hangs up or rests. */
function exchange({
  bytes,
  isHalfClosed = false,
}: MalformedCase): Promise<{ text: string; hungUp: boolean }> {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port: target.port });
    let text = "";
    let hungUp = true;
    const rest = (): void => {
      hungUp = false;
      socket.destroy();
    };
    const limit = setTimeout(rest, PATIENCE);
    let resting: Timer | null = null;
    const restAnew = (): void => {
      if (resting !== null) clearTimeout(resting);
      resting = setTimeout(rest, REST);
    };
    socket.on("connect", () => {
      // Not before: on a busy machine it may take longer until the server is there.
      if (isHalfClosed) socket.end(bytes, restAnew);
      else socket.write(bytes, restAnew);
    });
    socket.on("data", (part: Buffer) => {
      text += part.toString("latin1");
      restAnew();
    });
    // Hung up on while there was more to send; what it said before still counts.
    socket.on("error", () => {});
    socket.on("close", () => {
      if (resting !== null) clearTimeout(resting);
      clearTimeout(limit);
      resolve({ text, hungUp });
    });
  });
}

async function attempt(one: MalformedCase): Promise<void> {
  const proper = readStrictly(one.bytes);
  for (const { body } of proper.filter(({ hasInvalidHost }) => !hasInvalidHost)) {
    for (const [, name = ""] of body.matchAll(/"([^"]*)"/g)) allowed.add(name);
  }
  const { text, hungUp } = await exchange(one);
  const statuses = [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
  sent += 1;
  answers += statuses.length;
  closed += hungUp ? 1 : 0;
  const complain = (what: string): void => {
    const bytes = JSON.stringify(one.bytes.toString("latin1").slice(0, 600));
    broken.push(`${one.name} ${what}: ${bytes} got ${JSON.stringify(text.slice(0, 300))}`);
  };
  // 505 is the runtime's word for a version that is none.
  if (statuses.some((status) => status >= 500 && status !== 505)) complain("breaks it");
  // One that is refused by its head may be answered before its body turns out to be none.
  const served = text.split(/^x-request-id:/im).length - 1;
  if (served > proper.length + 1) complain("is taken for more requests than it is");
}

async function attemptAll(cases: () => MalformedCase | null): Promise<void> {
  const run = async (): Promise<void> => {
    for (let one = cases(); one !== null && broken.length + unanswered.length < 10; one = cases()) {
      await attempt(one);
      if (sent % 100 === 0) await askProperly();
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, run));
}

async function askProperly(): Promise<void> {
  const wire = new RawConnection(target.port);
  const answer = await wire.send(
    Buffer.from("GET /api/v4/health HTTP/1.1\r\nHost: localhost\r\n\r\n"),
  );
  wire.close();
  asked += 1;
  slowest = Math.max(slowest, answer?.ms ?? 0);
  if (answer?.status !== 200) unanswered.push(`number ${asked} got ${answer?.status ?? "nothing"}`);
}

async function holders(): Promise<string[]> {
  const reply = await fetch(`${target.server.url}/api/admin/v1/registrations`, {
    headers: { authorization: `Bearer ${target.token}` },
  });
  return ((await reply.json()) as { readonly user: string }[]).map(({ user }) => user);
}

const known = knownCases();
const count = known.length;
await attemptAll(() => known.pop() ?? null);
const aboard = (await holders()).filter((user) => !allowed.has(user));
check(`${count} known tricks: no stowaway aboard`, aboard.length === 0, aboard);

let left = GENERATED;
await attemptAll(() => ((left -= 1) < 0 ? null : generated(GENERATED - left)));
const registered = await holders();
const smuggled = registered.filter((user) => !allowed.has(user));
check(
  `${GENERATED} generated ones (seed ${seed}): no stowaway aboard; ${registered.length} of ` +
    `${allowed.size} that were sent by the letter are`,
  smuggled.length === 0 && registered.length > 0,
  smuggled.map((user) => [user, generated(Number(/\d+/.exec(user))).bytes.toString("latin1")]),
);
check(
  `${sent} in all, ${answers} answers, ${closed} hung up on: none breaks it or is taken for more`,
  broken.length === 0,
  broken.join("\n         "),
);
check(
  `each of ${asked} proper requests in between is answered, the slowest in ${slowest.toFixed(0)} ms`,
  asked > 0 && unanswered.length === 0,
  unanswered,
);
const wire = new RawConnection(target.port);
const last = await wire.send(Buffer.from(registrationRequest("passenger")));
wire.close();
check(
  "a proper registration is taken",
  last?.status === 200 && (await holders()).includes("passenger"),
);
check("the server is alive", target.isAlive());
await checkAfterAttack(target);
finish();

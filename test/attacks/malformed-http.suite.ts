// `bun run test:attacks malformed-http`: malformed HTTP on plain sockets, known tricks and
// generated ones. Each hides a registration where a careless parser finds a second request. What
// the RFC does not allow is refused or the connection is closed, nothing changes, and the next
// request is answered.
import { beforeAll, describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { createRandom, makeTempFolder, seed, chooseSize } from "../support/suite-harness.ts";
import { PATIENCE } from "../support/patience.ts";
import { endAttack, testAfterAttack, type AfterAttack } from "./after-attack.ts";
import { knownCases, registrationRequest, type MalformedCase } from "./malformed-cases.ts";
import { mutatedCase } from "./malformed-mutations.ts";
import { readStrictly } from "./strict-reader.ts";
import { startTarget, type AttackTarget } from "./target.ts";
import { RawConnection } from "./raw-connection.ts";

const GENERATED = chooseSize(10_000, 1_000_000);
const CONNECTIONS = 64;
/** After so many ms of silence the server is taken to have answered. */
const QUIET_TIME = 150;

let target: AttackTarget;
const makeMutation = (index: number): MalformedCase =>
  mutatedCase(index, createRandom(seed + index));

/** Users of well-formed registrations: they may get a slot. */
const allowedUsers = new Set<string>();
const problems: string[] = [];
let [sent, answers, closed, healthChecks, slowest] = [0, 0, 0, 0, 0];
const failedHealthChecks: string[] = [];

/** Sends the bytes, and collects the answer until the server closes the connection or is silent. */
function exchange({
  bytes,
  isHalfClosed = false,
}: MalformedCase): Promise<{ text: string; wasClosed: boolean }> {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port: target.port });
    let text = "";
    let wasClosed = true;
    const stop = (): void => {
      wasClosed = false;
      socket.destroy();
    };
    const limit = setTimeout(stop, PATIENCE);
    let silence: Timer | null = null;
    const restartSilence = (): void => {
      if (silence !== null) clearTimeout(silence);
      silence = setTimeout(stop, QUIET_TIME);
    };
    socket.on("connect", () => {
      // Not earlier: on a busy machine the server may take longer to accept the connection.
      if (isHalfClosed) socket.end(bytes, restartSilence);
      else socket.write(bytes, restartSilence);
    });
    socket.on("data", (part: Buffer) => {
      text += part.toString("latin1");
      restartSilence();
    });
    // The server closed the connection before everything was sent; its answer still counts.
    socket.on("error", () => {});
    socket.on("close", () => {
      if (silence !== null) clearTimeout(silence);
      clearTimeout(limit);
      resolve({ text, wasClosed });
    });
  });
}

async function attempt(malformed: MalformedCase): Promise<void> {
  const wellFormed = readStrictly(malformed.bytes);
  for (const { body } of wellFormed.filter(({ hasInvalidHost }) => !hasInvalidHost)) {
    for (const [, name = ""] of body.matchAll(/"([^"]*)"/g)) allowedUsers.add(name);
  }
  const { text, wasClosed } = await exchange(malformed);
  const statuses = [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
  sent += 1;
  answers += statuses.length;
  closed += wasClosed ? 1 : 0;
  const addProblem = (problem: string): void => {
    const bytes = JSON.stringify(malformed.bytes.toString("latin1").slice(0, 600));
    const answer = JSON.stringify(text.slice(0, 300));
    problems.push(`${malformed.name} ${problem}: ${bytes} got ${answer}`);
  };
  // The runtime answers 505 to an HTTP version that does not exist.
  if (statuses.some((status) => status >= 500 && status !== 505))
    addProblem("is answered with 5xx");
  // A request refused by its headers is answered before its body turns out to be malformed.
  const served = text.split(/^x-request-id:/im).length - 1;
  if (served > wellFormed.length + 1) addProblem("is served as more requests than it contains");
}

async function attemptAll(nextCase: () => MalformedCase | null): Promise<void> {
  const run = async (): Promise<void> => {
    for (let malformed = nextCase(); malformed !== null; malformed = nextCase()) {
      if (problems.length + failedHealthChecks.length >= 10) return;
      await attempt(malformed);
      if (sent % 100 === 0) await checkHealth();
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, run));
}

async function checkHealth(): Promise<void> {
  const connection = new RawConnection(target.port);
  const answer = await connection.send(
    Buffer.from("GET /api/v4/health HTTP/1.1\r\nHost: localhost\r\n\r\n"),
  );
  connection.close();
  healthChecks += 1;
  slowest = Math.max(slowest, answer?.ms ?? 0);
  if (answer?.status !== 200) {
    failedHealthChecks.push(`number ${healthChecks} got ${answer?.status ?? "no answer"}`);
  }
}

async function readRegisteredUsers(): Promise<string[]> {
  const reply = await fetch(`${target.server.url}/api/admin/v1/registrations`, {
    headers: { authorization: `Bearer ${target.token}` },
  });
  return ((await reply.json()) as { readonly user: string }[]).map(({ user }) => user);
}

describe("malformed HTTP", () => {
  let smuggledByCases: readonly string[];
  let registeredUsers: readonly string[];
  let lastStatus: number | undefined;
  let usersAtTheEnd: readonly string[];
  let after: AfterAttack;

  beforeAll(async () => {
    target = await startTarget(makeTempFolder(), 1_000_000);
    const cases = knownCases();
    const caseCount = cases.length;
    await attemptAll(() => cases.pop() ?? null);
    smuggledByCases = (await readRegisteredUsers()).filter((user) => !allowedUsers.has(user));
    let remaining = GENERATED;
    await attemptAll(() => ((remaining -= 1) < 0 ? null : makeMutation(GENERATED - remaining)));
    registeredUsers = await readRegisteredUsers();
    const connection = new RawConnection(target.port);
    const last = await connection.send(Buffer.from(registrationRequest("late-user")));
    lastStatus = last?.status;
    connection.close();
    usersAtTheEnd = await readRegisteredUsers();
    after = await endAttack(target);
    console.log(
      `${caseCount} known malformed requests and ${GENERATED} generated ones, seed ${seed}: ` +
        `${answers} answers, ${closed} connections closed by the server; ` +
        `${registeredUsers.length} of ${allowedUsers.size} users in well-formed requests have a ` +
        `slot; ${healthChecks} health checks, the slowest in ${slowest.toFixed(0)} ms`,
    );
  });

  test("no known malformed request smuggles in a registration", () => {
    expect(smuggledByCases).toEqual([]);
  });

  test("no generated malformed request smuggles in a registration", () => {
    const smuggled = registeredUsers.filter((user) => !allowedUsers.has(user));
    const bytesOf = (user: string): string =>
      makeMutation(Number(/\d+/.exec(user))).bytes.toString("latin1");
    expect(smuggled.map((user) => [user, bytesOf(user), `seed ${seed}`])).toEqual([]);
    expect(registeredUsers.length).toBeGreaterThan(0);
  });

  test("no malformed request is answered with 5xx or served as more requests than it has", () => {
    expect(problems).toEqual([]);
    expect(sent).toBeGreaterThanOrEqual(GENERATED);
  });

  test("each health check between malformed requests is answered", () => {
    expect(failedHealthChecks).toEqual([]);
    expect(healthChecks).toBeGreaterThan(0);
  });

  test("a well-formed registration is granted after the malformed requests", () => {
    expect(lastStatus).toBe(200);
    expect(usersAtTheEnd).toContain("late-user");
  });

  testAfterAttack("malformed HTTP", () => after);
});

// Applications with the clients for Python, C and JavaScript, while the leader of a pair is killed.
import { beforeAll, expect, test } from "bun:test";
import {
  LANGUAGES,
  type Language,
  prepareGuideExample,
  RunningExample,
} from "../clients/example-programs.ts";
import { consumptionTerms } from "../support/scenario.ts";
import { atEnd } from "../support/suite-harness.ts";
import { waitUntil } from "../support/wait-until.ts";
import { PostgresCluster } from "./postgres-cluster.ts";
import { startPair, type RunningHost } from "./running-host.ts";

/** A heartbeat comes every 20 seconds, so that some are due while no host leads. */
const TIMEOUT_MINUTES = 1;
/** The default of a pair. */
const TAKEOVER_SECONDS = 10;
/** As many as each example counts. */
const PAGES = 3;

interface Application {
  readonly user: string;
  readonly program: RunningExample;
}

interface Registration {
  readonly user: string;
  readonly registered_at: string;
  readonly last_seen_at: string;
}

let alpha: RunningHost;
let beta: RunningHost;
const applications: Application[] = [];

const readSlots = async ({ url }: RunningHost): Promise<Registration[]> => {
  const reply = await fetch(`${url}/api/admin/v1/registrations`);
  return (await reply.json()) as Registration[];
};

const usersOf = (slots: readonly Registration[]): string[] =>
  slots.map(({ user }) => user).toSorted();

const USERS = LANGUAGES.map((language) => `user-of-${language}`).toSorted();

beforeAll(async () => {
  const cluster = PostgresCluster.start();
  atEnd(() => cluster.remove());
  [alpha, beta] = await startPair(
    cluster,
    {
      product: "DEMO",
      timeoutMinutes: TIMEOUT_MINUTES,
      consumption: consumptionTerms({ max: null }),
    },
    TAKEOVER_SECONDS,
  );
  applications.push(...(await Promise.all(LANGUAGES.map(startExample))));
});

async function startExample(language: Language): Promise<Application> {
  const user = `user-of-${language}`;
  const program = new RunningExample(await prepareGuideExample(language), [
    `${alpha.url},${beta.url}`,
    user,
  ]);
  await program.waitForOutput("licensed");
  return { user, program };
}

test("applications keep their slots, count and end normally after a kill -9 of the leader", async () => {
  const before = await readSlots(alpha);
  expect(usersOf(before)).toEqual(USERS);
  await alpha.kill();
  await beta.waitUntilLeading();

  // Each application has renewed its slot at the new leader.
  const leadsSince = new Date().toISOString();
  await waitUntil(
    async () => {
      const slots = await readSlots(beta);
      expect(usersOf(slots)).toEqual(USERS);
      return slots.every(({ last_seen_at }) => last_seen_at > leadsSince);
    },
    "a heartbeat of each application at the new leader",
    { maxPause: 200 },
  );
  // The same registrations: no slot was lost and taken again.
  const registrations = (slots: readonly Registration[]) =>
    slots.map(({ user, registered_at }) => `${user} ${registered_at}`).toSorted();
  expect(registrations(await readSlots(beta))).toEqual(registrations(before));

  for (const { program } of applications) await program.pressEnter();
  for (const { user, program } of applications) {
    const { code, stdout, stderr } = await program.end();
    expect([user, code, stderr]).toEqual([user, 0, ""]);
    // Python prints a loss on standard output.
    expect(stdout).toMatch(/^waiting for a slot[^\n]*\nlicensed[^\n]*\npages: \d+\n$/);
  }
  const reply = await fetch(`${beta.url}/api/v4/license`);
  expect(await reply.json()).toMatchObject({ total_consumptions: PAGES * LANGUAGES.length });
  expect(await readSlots(beta)).toEqual([]);
});

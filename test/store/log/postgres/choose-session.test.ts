import { describe, expect, test } from "bun:test";
import { FolderRefused } from "../../../../src/store/folder/refusal.ts";
import { chooseSession } from "../../../../src/store/log/postgres/choose-session.ts";
import type { LogSession } from "../../../../src/store/log/postgres/log-session.ts";

const addressOf = (host: string) => ({ host, port: 5432 });

interface TestSession extends Pick<LogSession, "timeline" | "close"> {
  isClosed: boolean;
}

function makeSession(timeline: number): TestSession & LogSession {
  const session: TestSession = {
    timeline,
    isClosed: false,
    close() {
      session.isClosed = true;
    },
  };
  // The choice uses nothing else of it.
  return session as TestSession & LogSession;
}

const after = async <T>(milliseconds: number, work: () => T): Promise<T> => {
  await Bun.sleep(milliseconds);
  return work();
};

const fail = (message: string) => (): never => {
  throw new Error(message);
};

describe("the choice between the servers of a database", () => {
  test("takes the newer timeline, and closes the other session", async () => {
    const [old, current] = [makeSession(1), makeSession(2)];
    const chosen = await chooseSession([
      { address: addressOf("db1"), session: Promise.resolve(old) },
      { address: addressOf("db2"), session: after(20, () => current) },
    ]);
    expect(chosen).toBe(current);
    expect([old.isClosed, current.isClosed]).toEqual([true, false]);
  });

  test("waits for no server long, and closes the session of one that answers later", async () => {
    const [first, late] = [makeSession(1), makeSession(2)];
    const answer = Promise.withResolvers<LogSession>();
    const chosen = await chooseSession([
      { address: addressOf("db1"), session: answer.promise },
      { address: addressOf("db2"), session: Promise.resolve(first) },
    ]);
    expect(chosen).toBe(first);
    answer.resolve(late);
    await Bun.sleep(0);
    expect([first.isClosed, late.isClosed]).toEqual([false, true]);
  });

  test("names the problems in the order of the URL, whichever server answers first", () => {
    const attempts = [
      { address: addressOf("db1"), session: after(20, fail("refused")) },
      { address: addressOf("::1"), session: after(0, fail("no route")) },
    ];
    expect(chooseSession(attempts)).rejects.toThrow("db1:5432: refused; [::1]:5432: no route");
  });

  test("asks the operator for a change only if no server is merely away", async () => {
    const refused = async (): Promise<never> => {
      throw new FolderRefused("wrong password", "check it");
    };
    const attempt = (session: Promise<never>) => ({ address: addressOf("db1"), session });
    const errorOf = (sessions: Promise<never>[]): Promise<unknown> =>
      chooseSession(sessions.map(attempt)).catch((error: unknown) => error);
    expect(await errorOf([refused(), refused()])).toMatchObject({ hint: "check it" });
    expect(await errorOf([refused(), after(0, fail("away"))])).not.toHaveProperty("hint");
  });
});

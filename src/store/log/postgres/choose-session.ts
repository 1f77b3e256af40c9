import { messageOfError } from "../../../platform/error-message.ts";
import { FolderRefused } from "../../folder/refusal.ts";
import type { SocketAddress } from "./log-socket.ts";
import type { LogSession } from "./log-session.ts";

/** How long other servers may still answer after the first. */
const GRACE_MS = 300;

interface Attempt {
  readonly address: SocketAddress;
  readonly session: Promise<LogSession>;
}

/**
 * Of several servers, the one that accepts changes. If an old primary server was started again
 * beside a standby that took its place, two of them do: the newer timeline wins. The others are
 * closed. Rejects with what each of them said.
 */
export async function chooseSession(attempts: readonly Attempt[]): Promise<LogSession> {
  const { sessions, problems } = await collect(attempts);
  const orderOf = (problem: Problem): number =>
    attempts.findIndex(({ address }) => address === problem.address);
  const newest = Math.max(...sessions.map(({ timeline }) => timeline));
  const chosen = sessions.find(({ timeline }) => timeline === newest);
  for (const { session } of attempts) {
    void session.then(
      (one) => one === chosen || one.close(),
      () => {},
    );
  }
  // In the order of the URL: the same problem must have the same text.
  if (chosen === undefined)
    throw combineProblems(problems.toSorted((one, two) => orderOf(one) - orderOf(two)));
  return chosen;
}

interface Collected {
  /** In the order in which they answered. */
  readonly sessions: LogSession[];
  readonly problems: Problem[];
}

interface Problem {
  readonly address: SocketAddress;
  readonly error: unknown;
}

/** The operator must change something only if no server is merely away for a while. */
function combineProblems(problems: readonly Problem[]): Error {
  const text = problems
    .map(({ address: { host, port }, error }) => {
      const name = host.includes(":") ? `[${host}]` : host;
      return `${name}:${port}: ${messageOfError(error)}`;
    })
    .join("; ");
  const refusals = problems.map(({ error }) => error).filter((e) => e instanceof FolderRefused);
  return refusals[0] !== undefined && refusals.length === problems.length
    ? new FolderRefused(text, refusals[0].hint)
    : new Error(text);
}

/** Waits until all answered, or for a while after the first session. */
function collect(attempts: readonly Attempt[]): Promise<Collected> {
  const { promise, resolve } = Promise.withResolvers<Collected>();
  const collected: Collected = { sessions: [], problems: [] };
  let timer: Timer | undefined;
  const end = (): void => {
    clearTimeout(timer);
    resolve({ sessions: [...collected.sessions], problems: collected.problems });
  };
  const note = (): void => {
    const { sessions, problems } = collected;
    if (sessions.length + problems.length === attempts.length) end();
    else if (sessions.length === 1) timer ??= setTimeout(end, GRACE_MS);
  };
  for (const { address, session } of attempts) {
    session.then(
      (one) => {
        collected.sessions.push(one);
        note();
      },
      (error: unknown) => {
        collected.problems.push({ address, error });
        note();
      },
    );
  }
  return promise;
}

// Another server that takes a heartbeat, started by the person who runs the benchmark.
import { CannotMeasure } from "./bench-part.ts";
import { findListeningProcesses } from "./listening-processes.ts";
import { describeErrors } from "./load-plan.ts";
import { peerHeartbeatOf } from "./peer-heartbeat.ts";
import type { Peer } from "./peer-options.ts";
import { probe } from "./probe.ts";
import { runLoad, type RunResult } from "./run-load.ts";
import type { ComparedServer, ServerLoad } from "./servers.ts";

/** Throws CannotMeasure unless the server answers a heartbeat with 2xx and stays connected. */
export async function checkPeer({ name, url, request }: Peer): Promise<void> {
  const call = `${request.method} ${url}${request.target}`;
  try {
    const { status, body } = await probe(url, peerHeartbeatOf(url, request, 0));
    if (status >= 200 && status < 300) return;
    throw new Error(`answered ${status}: ${body.replaceAll(/\s+/g, " ").slice(0, 200)}`);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CannotMeasure(`peer ${name}: ${call}: ${reason}`, null);
  }
}

export class PeerServer implements ComparedServer {
  readonly #peer: Peer;
  readonly #users: number;
  readonly #wrong: string[] = [];

  constructor(peer: Peer, users: number) {
    this.#peer = peer;
    this.#users = users;
  }

  get name(): string {
    return this.#peer.name;
  }

  get url(): string {
    return this.#peer.url;
  }

  get pids(): readonly number[] {
    return findListeningProcesses(this.url);
  }

  get wrong(): readonly string[] {
    return this.#wrong;
  }

  async run(load: ServerLoad): Promise<RunResult> {
    const peerRequest = this.#peer.request;
    const result = await runLoad(this, { ...load, users: this.#users, peerRequest });
    const runName = `${load.kind} at ${load.connections} connections, peer ${this.name}`;
    this.#wrong.push(...describeErrors(runName, result));
    return result;
  }

  /** What other servers do after an answer is unknown. */
  async waitUntilIdle(): Promise<void> {}
}

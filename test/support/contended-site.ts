// A server with few slots, and a program that many jobs run with them. The program says when it
// starts and ends, and ends when the test lets it.
import { onTestFinished } from "bun:test";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { QueueReply } from "../../src/http/routes/queue/queue-schemas.ts";
import { startBinary, type ServerProcess } from "./binary.ts";
import { makeLicensedSite } from "./site-folder.ts";
import { tempFolder } from "./temp-folder.ts";
import { waitUntil } from "./wait-until.ts";

const serve = (folder: string, listen: string): Promise<ServerProcess> =>
  startBinary("serve", "--data", folder, "--listen", listen);

interface SiteOptions {
  readonly slots: number;
  readonly timeoutMinutes: number;
}

export class ContendedSite {
  /** Where jobs run; it has the program `simulate`. */
  readonly folder: string;
  readonly #data: string;
  #server: ServerProcess;

  static async open({ slots, timeoutMinutes }: SiteOptions): Promise<ContendedSite> {
    const folder = tempFolder();
    const data = join(folder, "data");
    await makeLicensedSite(data, { product: "CAD", slots, timeoutMinutes });
    return new ContendedSite(folder, data, await serve(data, "127.0.0.1:0"));
  }

  private constructor(folder: string, data: string, server: ServerProcess) {
    this.folder = folder;
    this.#data = data;
    this.#server = server;
    onTestFinished(() => this.#server.kill());
    writeFileSync(join(folder, "trace"), "");
    writeFileSync(this.program, this.#script());
    chmodSync(this.program, 0o755);
  }

  get program(): string {
    return join(this.folder, "simulate");
  }

  get url(): string {
    return new URL(this.#server.url).origin;
  }

  /** Lets all jobs end that run now or start later. */
  letJobsEnd(): void {
    writeFileSync(join(this.folder, "go"), "");
  }

  /** Kills the server, and starts it again at the same address. */
  async killAndRestart(): Promise<void> {
    const { host } = new URL(this.url);
    await this.#server.kill();
    this.#server = await serve(this.#data, host);
  }

  /** Waits until so many programs run and so many jobs wait: a granted slot is not yet a program. */
  async waitForContention(running: number, waiting: number): Promise<void> {
    await waitUntil(
      async () => this.countStarted() === running && (await this.countWaiting()) === waiting,
      `${running} running and ${waiting} waiting jobs`,
    );
  }

  async countWaiting(): Promise<number> {
    const response = await fetch(`${this.url}/api/admin/v1/queue`);
    const { products } = (await response.json()) as QueueReply;
    return products.reduce((sum, { waiting }) => sum + waiting, 0);
  }

  async countSlotsInUse(): Promise<number> {
    const response = await fetch(`${this.url}/api/v4/license`);
    return ((await response.json()) as { floating_in_use_devices: number }).floating_in_use_devices;
  }

  countStarted(): number {
    return this.#trace().filter((line) => line === "start").length;
  }

  countEnded(): number {
    return this.#trace().filter((line) => line === "end").length;
  }

  /** The largest number of programs that ran at the same time. */
  countMostAtOnce(): number {
    let [running, most] = [0, 0];
    for (const line of this.#trace()) {
      running += line === "start" ? 1 : -1;
      most = Math.max(most, running);
    }
    return most;
  }

  #trace(): string[] {
    return readFileSync(join(this.folder, "trace"), "utf8").split("\n").slice(0, -1);
  }

  #script(): string {
    return `#!/bin/sh
echo start >> ${this.folder}/trace
while [ ! -e ${this.folder}/go ]; do sleep 0.05; done
echo end >> ${this.folder}/trace
echo "result of $1"
`;
  }
}

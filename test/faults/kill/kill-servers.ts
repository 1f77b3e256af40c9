// What serves the site that is killed: one server, or the hosts of a pair.
import type { Terms } from "../../../src/domain/model/licenses/terms.ts";
import { makeLicensedSite } from "../../support/site-folder.ts";
import { startServer, type ServerProcess } from "../shared/server-process.ts";
import type { ServerRun } from "./calls.ts";
import type { KillResults } from "./results.ts";

export interface KillServers {
  /** A host of a pair may answer 503 at any time. */
  readonly canLoseTerm: boolean;
  /** Makes a new site with this license. */
  create(terms: Partial<Terms>): Promise<void>;
  /**
   * Starts what does not run. The server is the one that answers, as soon as it is ready. The last
   * one is not killed.
   */
  start(isLast?: boolean): ServerProcess;
  /** Injects another fault while clients call the server, before it is killed. */
  disturb?(server: ServerProcess, run: ServerRun): Promise<void>;
  /** Checks the files of a server that has ended. */
  checkEnd?(server: ServerProcess, results: KillResults): Promise<void>;
  /** After a clean stop, stops all others; returns their folders, which have the same state. */
  stopOthers?(results: KillResults): Promise<readonly string[]>;
}

/** One server with the file store. */
export class FolderServers implements KillServers {
  readonly canLoseTerm = false;
  readonly #folder: string;
  readonly #port: number;

  constructor(folder: string, port: number) {
    this.#folder = folder;
    this.#port = port;
  }

  async create(terms: Partial<Terms>): Promise<void> {
    await makeLicensedSite(this.#folder, terms);
  }

  start(): ServerProcess {
    return startServer(this.#folder, this.#port);
  }
}

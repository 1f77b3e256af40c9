import type { Fault } from "../../domain/model/fault.ts";
import { err, ok, type Result } from "../../domain/result.ts";
import { TaskQueue } from "../../platform/schedule/task-queue.ts";
import type { StorageFault } from "../../store/journal/storage-fault.ts";
import {
  encodeCredentials,
  parseCredentials,
  type Credentials as Pair,
  type SealedFile,
} from "../../store/secrets/sealed-file.ts";
import type { Store } from "../../store/store.ts";
import { LOCAL_PUBLISHER, type FilePublisher } from "../pair/file-publisher.ts";
import type { SharedFile } from "../pair/shared-files.ts";

type Name = keyof Pair;

const NO_CREDENTIALS: Pair = { apiKey: null, sharedKey: null };
const NAMES: readonly Name[] = ["apiKey", "sharedKey"];

/** The two secrets for a remote licensing cloud. They can be set and used, but never shown. */
export class CloudCredentials {
  readonly #store: Store;
  readonly #sealed: SealedFile;
  readonly #provided: Pair;
  readonly #publisher: FilePublisher;
  readonly #changes = new TaskQueue();

  /** `provided`: credentials from the service manager, which override stored ones. */
  constructor(
    store: Store,
    sealed: SealedFile,
    provided: Pair = NO_CREDENTIALS,
    publisher = LOCAL_PUBLISHER,
  ) {
    this.#store = store;
    this.#sealed = sealed;
    this.#provided = provided;
    this.#publisher = publisher;
  }

  /** In a pair: each host encrypts the same keys with its own sealing key. */
  readonly sharedFile: SharedFile = {
    exclusively: (task) => this.#changes.runTask(task),
    read: async () => {
      const { apiKey, sharedKey } = await this.#sealed.read();
      const hasOne = apiKey !== null || sharedKey !== null;
      return hasOne ? encodeCredentials({ apiKey, sharedKey }) : null;
    },
    replace: async (content) => {
      const pair = parseCredentials(content);
      if (pair === null) throw new Error("the keys have an unknown form");
      await this.#sealed.change(pair);
    },
  };

  /** Sets both in one durable step. The audit log gets only the names of those that changed. */
  set(
    keys: { readonly [K in Name]: string | null },
    peer: string,
  ): Promise<Result<Name[], Fault | StorageFault>> {
    return this.#changes.runTask(() => this.#set(keys, peer));
  }

  async #set(
    keys: { readonly [K in Name]: string | null },
    peer: string,
  ): Promise<Result<Name[], Fault | StorageFault>> {
    const { apiKey, sharedKey } = keys;
    const current = await this.#sealed.read();
    const changed = NAMES.filter((name) => keys[name] !== null && keys[name] !== current[name]);
    if (changed.length === 0) return ok([]);
    const content = encodeCredentials({
      apiKey: apiKey ?? current.apiKey,
      sharedKey: sharedKey ?? current.sharedKey,
    });
    const refusal = this.#publisher.findRefusal(content);
    if (refusal !== null) return err(refusal);
    // Audit log first: it may name a change that then failed, but no change is missing from it.
    const command = { type: "SetKeys" as const, changed, peer };
    const recorded = await this.#store.transact(command, () => null, null, "outcome");
    if (!recorded.ok) return recorded;
    const published = await this.#publisher.publish(content, () =>
      this.#sealed.change({
        ...(apiKey !== null && { apiKey }),
        ...(sharedKey !== null && { sharedKey }),
      }),
    );
    return published.ok ? ok(changed) : published;
  }

  /** Null unless both are set. */
  async readPair(): Promise<{ readonly apiKey: string; readonly sharedKey: string } | null> {
    const { apiKey, sharedKey } = await this.#read();
    return apiKey === null || sharedKey === null ? null : { apiKey, sharedKey };
  }

  /** Which of them are set. */
  async listSet(): Promise<{ readonly [K in Name]: boolean }> {
    const { apiKey, sharedKey } = await this.#read();
    return { apiKey: apiKey !== null, sharedKey: sharedKey !== null };
  }

  async #read(): Promise<Pair> {
    const sealed = await this.#sealed.read();
    return {
      apiKey: this.#provided.apiKey ?? sealed.apiKey,
      sharedKey: this.#provided.sharedKey ?? sealed.sharedKey,
    };
  }
}

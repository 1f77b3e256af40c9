import type { Fault } from "../domain/fault.ts";
import { ok, type Result } from "../domain/result.ts";
import type { StorageFault } from "../store/journal/storage-fault.ts";
import type { Credentials as Pair, SealedFile } from "../store/secrets/sealed-file.ts";
import type { Store } from "../store/store.ts";

type Name = keyof Pair;

const NO_CREDENTIALS: Pair = { apiKey: null, sharedKey: null };
const NAMES: readonly Name[] = ["apiKey", "sharedKey"];

/** The two secrets for a remote licensing cloud. They can be set and used, but never shown. */
export class CloudCredentials {
  readonly #store: Store;
  readonly #sealed: SealedFile;
  readonly #provided: Pair;

  /** `provided`: credentials from the service manager, which override stored ones. */
  constructor(store: Store, sealed: SealedFile, provided: Pair = NO_CREDENTIALS) {
    this.#store = store;
    this.#sealed = sealed;
    this.#provided = provided;
  }

  /** Sets both in one durable step. The audit log gets only the names of those that changed. */
  async set(
    keys: { readonly [K in Name]: string | null },
    peer: string,
  ): Promise<Result<Name[], Fault | StorageFault>> {
    const { apiKey, sharedKey } = keys;
    const current = await this.#sealed.read();
    const changed = NAMES.filter((name) => keys[name] !== null && keys[name] !== current[name]);
    if (changed.length === 0) return ok([]);
    // Audit log first: it may name a change that then failed, but no change is missing from it.
    const recorded = await this.#store.transact({ type: "SetKeys", changed, peer }, () => null);
    if (!recorded.ok) return recorded;
    await this.#sealed.change({
      ...(apiKey !== null && { apiKey }),
      ...(sharedKey !== null && { sharedKey }),
    });
    return ok(changed);
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

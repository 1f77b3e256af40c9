import type { Fault } from "../domain/fault.ts";
import { ok, type Result } from "../domain/result.ts";
import type { StorageFault } from "../store/group-commit.ts";
import type { Credentials as Pair, SealedFile } from "../store/sealed-file.ts";
import type { Store } from "../store/store.ts";

type Name = keyof Pair;

const NOTHING: Pair = { apiKey: null, sharedKey: null };
const NAMES: readonly Name[] = ["apiKey", "sharedKey"];

/** The two secrets towards a remote licensing cloud: written, used, never shown. */
export class CloudCredentials {
  readonly #store: Store;
  readonly #sealed: SealedFile;
  readonly #given: Pair;

  /** What the service manager gives goes before what was set. */
  constructor(store: Store, sealed: SealedFile, given: Pair = NOTHING) {
    this.#store = store;
    this.#sealed = sealed;
    this.#given = given;
  }

  /** Both in one durable step; the record learns which changed and nothing more. */
  async set(
    given: { readonly [K in Name]: string | null },
    peer: string,
  ): Promise<Result<Name[], Fault | StorageFault>> {
    const { apiKey, sharedKey } = given;
    const before = await this.#sealed.read();
    const changing = NAMES.filter((name) => given[name] !== null && given[name] !== before[name]);
    if (changing.length === 0) return ok([]);
    // On record first: a change that is written and then fails is named, one that is not, is not.
    const noted = await this.#store.transact(
      { type: "SetKeys", changed: changing, peer },
      () => null,
    );
    if (!noted.ok) return noted;
    await this.#sealed.change({
      ...(apiKey !== null && { apiKey }),
      ...(sharedKey !== null && { sharedKey }),
    });
    return ok(changing);
  }

  /** Null unless both are set. */
  async readPair(): Promise<{ readonly apiKey: string; readonly sharedKey: string } | null> {
    const sealed = await this.#sealed.read();
    const apiKey = this.#given.apiKey ?? sealed.apiKey;
    const sharedKey = this.#given.sharedKey ?? sealed.sharedKey;
    return apiKey === null || sharedKey === null ? null : { apiKey, sharedKey };
  }
}

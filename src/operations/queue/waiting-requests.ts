import type { PendingRequest } from "./waiting-request.ts";

/** The requests that wait for a slot, by product and user. A user may have several. */
export class WaitingRequests {
  readonly #byProduct = new Map<string, Map<string, readonly PendingRequest[]>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  listOf(product: string, user: string): readonly PendingRequest[] {
    return this.#byProduct.get(product)?.get(user) ?? [];
  }

  isConnected(product: string, user: string): boolean {
    return this.listOf(product, user).length > 0;
  }

  listAll(): PendingRequest[] {
    return [...this.#byProduct.values()].flatMap((byUser) => [...byUser.values()].flat());
  }

  add(request: PendingRequest): void {
    const { product, user } = request;
    let byUser = this.#byProduct.get(product);
    if (byUser === undefined) this.#byProduct.set(product, (byUser = new Map()));
    byUser.set(user, [...(byUser.get(user) ?? []), request]);
    this.#size += 1;
  }

  remove(request: PendingRequest): void {
    const { product, user } = request;
    const byUser = this.#byProduct.get(product);
    const before = byUser?.get(user) ?? [];
    const after = before.filter((other) => other !== request);
    if (byUser === undefined || after.length === before.length) return;
    this.#size -= 1;
    if (after.length > 0) {
      byUser.set(user, after);
      return;
    }
    byUser.delete(user);
    if (byUser.size === 0) this.#byProduct.delete(product);
  }
}

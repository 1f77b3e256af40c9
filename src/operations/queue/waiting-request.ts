interface WaitingRequestParts<A> {
  readonly product: string;
  readonly user: string;
  /** Aborted when the caller disconnects. */
  readonly signal: AbortSignal;
  /** Claims the slot; null: it cannot be claimed now. */
  readonly retry: () => A | null;
  /** Its time is over: its wait is to be ended. */
  readonly onTimeout: (request: PendingRequest) => void;
  /** `leave`: the caller disconnected. */
  readonly onEnd: (request: PendingRequest, change: "touch" | "leave") => void;
}

/** A request that waits for a slot. Each of the calls ends the wait, if it has not ended. */
export interface PendingRequest {
  readonly product: string;
  readonly user: string;
  /** With another attempt. */
  readonly retry: () => void;
  /** Without another attempt. */
  readonly refuse: () => void;
}

/**
 * A request that waits for a slot. There may be thousands of them, so it has few objects: the
 * listener of the signal is the request itself.
 */
export class WaitingRequest<A> implements PendingRequest {
  readonly #parts: WaitingRequestParts<A>;
  #timer: Timer | null = null;
  #resolve: ((last: A | null) => void) | null = null;

  constructor(parts: WaitingRequestParts<A>) {
    this.#parts = parts;
  }

  get product(): string {
    return this.#parts.product;
  }

  get user(): string {
    return this.#parts.user;
  }

  /** Resolves with the last attempt; null: there was none, and the request is refused. */
  wait(milliseconds: number): Promise<A | null> {
    return new Promise((resolve) => {
      this.#resolve = resolve;
      this.#timer = setTimeout(this.#parts.onTimeout, milliseconds, this);
      const { signal } = this.#parts;
      signal.addEventListener("abort", this, { once: true });
      if (signal.aborted) this.handleEvent();
    });
  }

  /** Ends the wait with another attempt. */
  retry(): void {
    if (this.#resolve !== null) this.#end(this.#parts.retry());
  }

  /** Ends the wait without another attempt. */
  refuse(): void {
    this.#end(null);
  }

  /** The caller disconnected. */
  handleEvent(): void {
    this.#end(null, "leave");
  }

  #end(last: A | null, change: "touch" | "leave" = "touch"): void {
    const resolve = this.#resolve;
    if (resolve === null) return;
    this.#resolve = null;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#parts.signal.removeEventListener("abort", this);
    this.#parts.onEnd(this, change);
    resolve(last);
  }
}

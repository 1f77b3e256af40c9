/** Waits; an aborted signal ends the wait with its reason as an error. */
export async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(
      () => {
        signal.removeEventListener("abort", stop);
        resolve();
      },
      Math.max(0, milliseconds),
    );
    signal.addEventListener("abort", stop, { once: true });
  });
}

/** Up to a third shorter, so that many commands that began together do not call together. */
export const withJitter = (milliseconds: number): number => milliseconds * (1 - Math.random() / 3);

/** A refusal is an ordinary value; only bugs are thrown. */
export type Result<T, F> = { readonly ok: true; readonly value: T } | Err<F>;

interface Err<F> {
  readonly ok: false;
  readonly fault: F;
}

export const ok = <T>(value: T): Result<T, never> => ({ ok: true, value });

export const err = <F>(fault: F): Err<F> => ({ ok: false, fault });

export interface SlotRange {
  readonly from: number;
  readonly to: number;
}

const MAX_NUMBERS = 100;
const MAX_SLOTS = 1_000_000;

/** The server tries no more numbers at once. */
export const isSlotRange = ({ from, to }: SlotRange): boolean =>
  [from, to].every((slots) => Number.isInteger(slots) && slots >= 1 && slots <= MAX_SLOTS) &&
  from <= to &&
  to - from < MAX_NUMBERS;

const BELOW_USUAL_USE = 3;
const NUMBERS = 20;

/** From a little less than the usual use, since fewer slots meet hardly anybody's needs. */
export function chooseSlots({ p95 }: { readonly p95: number }): SlotRange {
  const from = Math.max(1, p95 - BELOW_USUAL_USE);
  return { from, to: from + NUMBERS - 1 };
}

/** Never rounded up to 100 %. */
export function shareText(part: number, whole: number): string {
  if (whole === 0) return "–";
  return `${(Math.floor((part / whole) * 1_000) / 10).toFixed(1)} %`;
}

import { formatNumber } from "../format.ts";

/** One decimal: means of slots are small numbers. */
export const formatMean = (mean: number): string => formatNumber(Math.round(mean * 10) / 10);

import type { ExpositionFormat } from "../../platform/metrics/exposition.ts";

/** Longer than any client's header. A longer one is read up to here. */
const MAX_LENGTH = 2_048;

/**
 * The format that an Accept header prefers. The text format is the default: without a header, if
 * both are equal, and if neither is accepted, because a monitor is helped by no refusal.
 */
export function chooseFormat(accept: string | null): ExpositionFormat {
  let openmetrics = 0;
  let text = 0;
  for (const part of (accept ?? "").slice(0, MAX_LENGTH).split(",")) {
    const range = parseRange(part);
    if (isOpenMetrics(range)) openmetrics = Math.max(openmetrics, range.quality);
    else if (isText(range)) text = Math.max(text, range.quality);
  }
  return openmetrics > text ? "openmetrics" : "text";
}

interface MediaRange {
  readonly type: string;
  readonly version: string | null;
  readonly quality: number;
}

const isOpenMetrics = ({ type, version }: MediaRange): boolean =>
  type === "application/openmetrics-text" && (version === null || version === "1.0.0");

/** A wildcard accepts both, and so gets the default. */
const isText = ({ type, version }: MediaRange): boolean =>
  type === "*/*" ||
  type === "text/*" ||
  (type === "text/plain" && (version === null || version === "0.0.4"));

function parseRange(text: string): MediaRange {
  const [type = "", ...parameters] = text.split(";").map((part) => part.trim().toLowerCase());
  const valueOf = (name: string): string | null =>
    parameters
      .find((parameter) => parameter.startsWith(`${name}=`))
      ?.slice(name.length + 1)
      .replaceAll('"', "") ?? null;
  return { type, version: valueOf("version"), quality: parseQuality(valueOf("q")) };
}

const QUALITY = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/;

/** An invalid weight is none: the range is not accepted. */
const parseQuality = (text: string | null): number =>
  text === null ? 1 : QUALITY.test(text) ? Number(text) : 0;

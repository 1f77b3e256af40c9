type LogFields = Readonly<Record<string, unknown>>;

/** Writes JSON lines to stderr, one per event, for log collectors. */
export const log = {
  info: (message: string, fields: LogFields = {}): void => write("info", message, fields),
  warn: (message: string, fields: LogFields = {}): void => write("warn", message, fields),
  error: (message: string, fields: LogFields = {}): void => write("error", message, fields),
};

function write(level: string, message: string, fields: LogFields): void {
  const head = { time: new Date().toISOString(), level, message: message.slice(0, 200) };
  const line = JSON.stringify({ ...head, ...fields }, replaceErrors);
  const output = `${escapeControls(line)}\n`;
  const bytes = Buffer.byteLength(output);
  // A truncated line would not be JSON, so of a long line only the head is written.
  process.stderr.write(
    bytes <= MAX_LINE_BYTES
      ? output
      : `${escapeControls(JSON.stringify({ ...head, truncated_bytes: bytes }))}\n`,
  );
}

const MAX_LINE_BYTES = 8 * 1024;

/** JSON would show no properties of an Error. */
const replaceErrors = (_key: string, value: unknown): unknown =>
  value instanceof Error ? { error: value.message, stack: value.stack, cause: value.cause } : value;

/**
 * Escapes line separators and direction marks, which JSON leaves as they are: they could break or
 * reverse a log line.
 */
const escapeControls = (line: string): string =>
  line.replaceAll(
    /[\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

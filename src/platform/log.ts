type LogFields = Readonly<Record<string, unknown>>;

/** JSON lines on stderr, one an event, for whoever collects them. */
export const log = {
  info: (message: string, facts: LogFields = {}): void => write("info", message, facts),
  warn: (message: string, facts: LogFields = {}): void => write("warn", message, facts),
  error: (message: string, facts: LogFields = {}): void => write("error", message, facts),
};

function write(level: string, message: string, facts: LogFields): void {
  const head = { time: new Date().toISOString(), level, message: message.slice(0, 200) };
  const line = JSON.stringify({ ...head, ...facts }, replaceErrors);
  const shown = `${escapeControls(line)}\n`;
  const bytes = Buffer.byteLength(shown);
  // A line that is cut is no JSON any more, so only its head is written.
  process.stderr.write(
    bytes <= MAX_LINE_BYTES
      ? shown
      : `${escapeControls(JSON.stringify({ ...head, truncated_bytes: bytes }))}\n`,
  );
}

const MAX_LINE_BYTES = 8 * 1024;

/** Errors have no fields of their own that JSON would show. */
const replaceErrors = (_key: string, value: unknown): unknown =>
  value instanceof Error ? { error: value.message, stack: value.stack, cause: value.cause } : value;

/**
 * JSON leaves separators and direction marks as they are; a log line must not break or turn round.
 */
const escapeControls = (line: string): string =>
  line.replaceAll(
    /[\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

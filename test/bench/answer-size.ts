// Finds the end of an HTTP answer, without more work than that: the load generator reads every
// answer with it, and its processor time is taken from the server that is measured.

const HEAD_END = Buffer.from("\r\n\r\n");
const LINE_END = Buffer.from("\r\n");
/** The end of `Content-Length: `, the same for both usual spellings. */
const LENGTH = Buffer.from("ength: ");
/** What stands before it, in lower case. */
const BEFORE_LENGTH = "\r\ncontent-l";
const [CR, ZERO] = [13, 48];

/** In bytes; null: the answer is not complete yet; a text: why its end cannot be found. */
export type AnswerSize = number | string | null;

export function sizeOfAnswer(bytes: Buffer): AnswerSize {
  const head = bytes.indexOf(HEAD_END);
  if (head < 0) return null;
  const length = bytes.indexOf(LENGTH);
  if (length >= BEFORE_LENGTH.length && length < head && isContentLength(bytes, length)) {
    const at = length + LENGTH.length;
    const size = head + HEAD_END.length + readDigits(bytes, at, bytes.indexOf(CR, at) - at);
    return bytes.length < size ? null : size;
  }
  return sizeByFields(bytes, head);
}

const isContentLength = (bytes: Buffer, at: number): boolean =>
  bytes.toString("latin1", at - BEFORE_LENGTH.length, at).toLowerCase() === BEFORE_LENGTH;

/** For an unusual spelling of Content-Length, and for answers without it. */
function sizeByFields(bytes: Buffer, head: number): AnswerSize {
  const fields = bytes.toString("latin1", 0, head);
  const body = head + HEAD_END.length;
  const length = /\r\ncontent-length:[ \t]*(\d+)/i.exec(fields)?.[1];
  if (length !== undefined) {
    const size = body + Number(length);
    return bytes.length < size ? null : size;
  }
  if (/\r\ntransfer-encoding:[ \t]*chunked/i.test(fields)) return sizeOfChunks(bytes, body);
  // These have no body.
  if (/^HTTP\/1\.1 (?:1\d\d|204|304)/.test(fields)) return body;
  return "an answer has neither Content-Length nor chunked encoding";
}

function sizeOfChunks(bytes: Buffer, start: number): AnswerSize {
  for (let at = start; ;) {
    const lineEnd = bytes.indexOf(LINE_END, at);
    if (lineEnd < 0) return null;
    const size = /^[0-9a-f]+/i.exec(bytes.toString("latin1", at, lineEnd))?.[0];
    if (size === undefined) return "an answer has a chunk without a size";
    // The last chunk is empty; lines with fields may follow it, and then an empty line.
    if (Number.parseInt(size, 16) === 0) {
      const end = bytes.indexOf(HEAD_END, lineEnd);
      return end < 0 ? null : end + HEAD_END.length;
    }
    at = lineEnd + LINE_END.length + Number.parseInt(size, 16) + LINE_END.length;
  }
}

export const readStatus = (bytes: Buffer): number => readDigits(bytes, "HTTP/1.1 ".length, 3);

function readDigits(bytes: Buffer, at: number, count: number): number {
  let number = 0;
  for (let offset = at; offset < at + count; offset += 1) {
    number = number * 10 + ((bytes[offset] ?? ZERO) - ZERO);
  }
  return number;
}

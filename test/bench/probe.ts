// Reads one answer of a server, as the bytes that it sends.
import { readStatus, sizeOfAnswer } from "./answer-size.ts";

export interface Answer {
  readonly status: number;
  /** Names and values, as the server sent them. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string;
}

const TIMEOUT = 10_000;

/**
 * Sends a request twice over one connection, as the load generator does, and returns the last
 * answer.
 */
export async function probe(url: string, request: Uint8Array): Promise<Answer> {
  const answers: Answer[] = [];
  const finished = Promise.withResolvers<void>();
  // It can fail before it is awaited.
  finished.promise.catch(() => {});
  let received = Buffer.alloc(0);
  const fail = (reason: string): void => finished.reject(new Error(reason));
  const timer = setTimeout(() => fail(`no answer within ${TIMEOUT / 1_000} s`), TIMEOUT);
  try {
    const socket = await Bun.connect({
      ...addressOf(url),
      socket: {
        data(socket, part) {
          received = Buffer.concat([received, part]);
          const size = sizeOfAnswer(received);
          if (typeof size === "string") return fail(size);
          if (size === null) return;
          answers.push(decodeAnswer(received.subarray(0, size)));
          received = received.subarray(size);
          if (answers.length === 2) finished.resolve();
          else socket.write(request);
        },
        close: () =>
          fail(
            answers.length === 0
              ? "the server closed the connection without an answer"
              : "the server closes the connection after each answer",
          ),
        error: (_socket, error) => fail(error.message),
      },
    });
    socket.write(request);
    await finished.promise;
    socket.end();
  } finally {
    clearTimeout(timer);
  }
  const [, answer] = answers;
  if (answer === undefined) throw new Error("no answer");
  return answer;
}

/** In the form that `Bun.connect` takes. */
export function addressOf(url: string): { readonly hostname: string; readonly port: number } {
  const { hostname, port } = new URL(url);
  return {
    hostname: hostname.replaceAll(/[[\]]/g, ""),
    port: port === "" ? 80 : Number(port),
  };
}

function decodeAnswer(bytes: Buffer): Answer {
  const [head = "", ...body] = bytes.toString().split("\r\n\r\n");
  const headers = head
    .split("\r\n")
    .slice(1)
    .map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon), line.slice(colon + 1).trim()] as const;
    });
  return { status: readStatus(bytes), headers, body: body.join("\r\n\r\n") };
}

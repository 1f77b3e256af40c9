import { describe, expect, test } from "bun:test";
import { readStatus, sizeOfAnswer } from "./answer-size.ts";

const OK = "HTTP/1.1 200 OK\r\n";
const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`;

describe("the size of an answer", () => {
  test.each([
    ["with Content-Length", `${OK}Content-Length: 3\r\n\r\nabc`],
    ["with content-length", `${OK}content-length: 3\r\nDate: x\r\n\r\nabc`],
    ["with an unusual spelling", `${OK}CONTENT-LENGTH:3\r\n\r\nabc`],
    ["with another field that ends alike", `${OK}X-Length: 9\r\nContent-Length: 3\r\n\r\nabc`],
    ["with an empty body", `${OK}Content-Length: 0\r\n\r\n`],
    ["without a body", "HTTP/1.1 204 No Content\r\nDate: x\r\n\r\n"],
    ["in chunks", `${CHUNKED}3\r\nabc\r\n1A;x=y\r\n${"z".repeat(26)}\r\n0\r\n\r\n`],
    ["in chunks that contain their own ends", `${CHUNKED}9\r\n\r\n0\r\n\r\nab\r\n0\r\n\r\n`],
    ["in chunks with fields after them", `${CHUNKED}1\r\na\r\n0\r\nX-Sum: 1\r\n\r\n`],
  ])("%s is found as soon as the last byte is there", (_case, text) => {
    const bytes = Buffer.from(text);
    for (let length = 0; length < bytes.length; length += 1) {
      expect(sizeOfAnswer(bytes.subarray(0, length))).toBeNull();
    }
    expect(sizeOfAnswer(bytes)).toBe(bytes.length);
    expect(sizeOfAnswer(Buffer.concat([bytes, Buffer.from("HTTP/1.1 200")]))).toBe(bytes.length);
  });

  test("cannot be found without Content-Length and chunks", () => {
    expect(sizeOfAnswer(Buffer.from(`${OK}\r\nabc`))).toBe(
      "an answer has neither Content-Length nor chunked encoding",
    );
  });

  test("cannot be found if a chunk has no size", () => {
    expect(sizeOfAnswer(Buffer.from(`${CHUNKED}1\r\na\r\nsize\r\n`))).toBe(
      "an answer has a chunk without a size",
    );
  });
});

test("the status of an answer is read from its first line", () => {
  expect(readStatus(Buffer.from("HTTP/1.1 503 Oh\r\n"))).toBe(503);
});

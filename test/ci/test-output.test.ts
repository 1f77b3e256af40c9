import { expect, test } from "bun:test";
import { findFailedFiles } from "./test-output.ts";

test("a failed file has the text of its error, also below a later file, which has not failed", () => {
  const output = `bun test v1.4.4 3x PARALLEL

test/slots.test.ts:
(pass) a slot is free [0.10ms]
(fail) a slot is held [0.39ms]

test/queue.test.ts:
error: the cause

      at <anonymous> (/src/berth/test/slots.test.ts:3:32)
(pass) the queue is empty [0.02ms]

1 tests failed:
(fail) a slot is held [0.39ms]

 2 pass
 1 fail
`;
  expect(findFailedFiles(output)).toEqual([
    {
      path: "test/slots.test.ts",
      failures: 1,
      output: `(fail) a slot is held [0.39ms]

error: the cause

      at <anonymous> (/src/berth/test/slots.test.ts:3:32)`,
    },
  ]);
});

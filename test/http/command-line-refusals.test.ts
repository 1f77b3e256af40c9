import { expect, test } from "bun:test";
import { openAppliance } from "../support/appliance.ts";

const UPLOAD = "/api/v4/license/upload";
const DOCUMENT = { license: "no document" };

test("a refusal has exactly status, code and message", async () => {
  const site = await openAppliance();
  const [, body] = await site.post(UPLOAD, DOCUMENT);
  expect(body).toEqual({
    status: 400,
    code: "invalid_license_file",
    message: "the file is not a signed document",
  });
});

test("a refusal has a hint and words of the command line for a request that asks for them", async () => {
  const site = await openAppliance();
  const headers = { "x-berth-audience": "command-line" };
  const [, invalid] = await site.post(UPLOAD, DOCUMENT, headers);
  expect(invalid).toEqual({
    status: 400,
    code: "invalid_license_file",
    message: "the file is not a signed document",
    hint: "berth vendor inspect FILE shows the kind of a file",
  });
  const [, wrongId] = await site.post(
    "/api/admin/v1/licenses/remove",
    { license_id: "x" },
    headers,
  );
  expect(wrongId).toMatchObject({ code: "invalid_number", hint: "" });
  expect(wrongId).toHaveProperty("message", expect.stringContaining("license id must be"));
});

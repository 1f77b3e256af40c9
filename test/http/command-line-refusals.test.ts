import { expect, test } from "bun:test";
import { openAppliance } from "../support/appliance.ts";

const UPLOAD = "/api/v4/license/upload";
const DOCUMENT = { license: "no document" };

test("a refusal names the field if exactly one is wrong", async () => {
  const site = await openAppliance();
  const register = "/api/v4/register";
  const [, one] = await site.post(register, { product: "CAD" });
  expect(one).toMatchObject({ code: "missing_parameters", field: "user" });
  const [, tooLong] = await site.post(register, { user: "u".repeat(300), product: "CAD" });
  expect(tooLong).toMatchObject({ code: "too_long", field: "user" });
  const [, wrongType] = await site.post(register, { user: { name: "anna" } });
  expect(wrongType).toMatchObject({ code: "invalid_type", field: "user" });
  const [, wrongTypes] = await site.post(register, { user: 1, product: 2 });
  expect(wrongTypes).toMatchObject({ code: "invalid_type" });
  expect(wrongTypes).not.toHaveProperty("field");
});

test("a refusal of a name that is taken names the field", async () => {
  const site = await openAppliance();
  const tokens = "/api/admin/v1/access/tokens";
  const [, { token }] = await site.post<{ token: string }>(tokens, { name: "ops", role: "admin" });
  const headers = { authorization: `Bearer ${token}` };
  const [, taken] = await site.post(tokens, { name: "ops", role: "admin" }, headers);
  expect(taken).toMatchObject({ code: "name_taken", field: "name" });
});

test("a refusal that no field causes has exactly status, code and message", async () => {
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

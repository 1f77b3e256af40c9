import { describe, expect, test } from "bun:test";
import type { CancelRequest } from "../../../src/domain/requests/cancel-request.ts";
import { isUnusedSite } from "../../../src/domain/appliance/move.ts";
import { limits } from "../../../src/domain/model/limits.ts";
import { answerTo, makeRequestCommand } from "../../support/new-site.ts";
import { given, hoursLater, install, MONDAY, replayEvents } from "../../support/scenario.ts";

const cancel = (request: string): CancelRequest => ({
  type: "CancelRequest",
  request,
  peer: "10.0.0.1",
});

const activation = {
  nonce: "00112233aa",
  licenseKey: "K",
  initializationCode: "",
  hardwareId: "h",
  hardware: [],
};

describe("cancelling a request", () => {
  const requested = given().at(MONDAY).execute(makeRequestCommand("r"));

  test("is recorded, and closes the request", () => {
    requested
      .at(hoursLater(1))
      .when(cancel("r"))
      .records({
        type: "RequestCancelled",
        at: hoursLater(1),
        request: "r",
        product: null,
        licenseKey: null,
        peer: "10.0.0.1",
      });
    const cancelled = requested.at(MONDAY).execute(cancel("r"));
    expect(replayEvents(cancelled.events).requests.has("r")).toBe(false);
  });

  test("makes an answer to it be refused, which says that it was cancelled", () => {
    const answer = { ...install(1), answers: answerTo("r") };
    requested.at(MONDAY).when(answer).records({ type: "LicenseInstalled", request: "r" });
    requested
      .at(MONDAY)
      .execute(cancel("r"))
      .at(MONDAY)
      .when(answer)
      .refuses({ code: "request_unknown", cancelled: true });
  });

  test("writes nothing when the request is already cancelled", () => {
    requested
      .at(MONDAY)
      .execute(cancel("r"))
      .at(MONDAY)
      .when(cancel("r"))
      .records()
      .answers({ request: "r" });
  });

  test("is refused when the request was answered", () => {
    requested
      .at(MONDAY)
      .execute({ ...install(1), answers: answerTo("r") })
      .at(MONDAY)
      .when(cancel("r"))
      .refuses({ code: "request_not_found", reason: "answered" });
  });

  test("is refused when there is no such request", () => {
    given().at(MONDAY).when(cancel("x")).refuses({ code: "request_not_found", reason: null });
  });

  test("works on an activation by its nonce, and names its license key", () => {
    const generated = given()
      .at(MONDAY)
      .execute({ type: "AirgapGenerate", activation, peer: "10.0.0.1" });
    generated
      .at(MONDAY)
      .when(cancel(activation.nonce))
      .records({ type: "RequestCancelled", request: activation.nonce, licenseKey: "K" });
    const cancelled = replayEvents(generated.at(MONDAY).execute(cancel(activation.nonce)).events);
    expect(cancelled.activations.size).toBe(0);
    expect(isUnusedSite(cancelled)).toBe(false);
  });

  test("is remembered for the last 64 requests", () => {
    const ids = Array.from({ length: limits.cancelledRequests + 2 }, (_, index) => `r${index}`);
    const commands = ids.flatMap((id) => [makeRequestCommand(id), cancel(id)]);
    const { cancelledRequests } = replayEvents(
      given()
        .at(MONDAY)
        .execute(...commands).events,
    );
    expect([...cancelledRequests]).toEqual(ids.slice(2));
  });
});

/**
 * What an application does from its start to its end. The README has the same rows;
 * test/http/routes/slots/client-lifecycle.test.ts compares both and runs through them.
 */
export const clientLifecycle: readonly (readonly [situation: string, action: string])[] = [
  [
    "Start",
    "`register`. Keep `registered_at`, `expires_at` and `floating_timeout` (minutes) of the answer.",
  ],
  [
    "`floating_not_available` at the start",
    "All slots are in use or kept for others; `message` says which. Tell the user, try again later.",
  ],
  [
    "Choosing `user`",
    "A slot belongs to a name; rules count what is before `#`. One slot per machine: `ada#ws-17`.",
  ],
  [
    "`ada` on two machines",
    "Both share one slot. The first that calls `unregister` releases it for both.",
  ],
  [
    "While it runs",
    "`register` again (the heartbeat) at a third of `floating_timeout`: every 5 of 15 minutes.",
  ],
  [
    "The server is unreachable",
    "Go on until `expires_at`. Retry every 10 to 30 s, at random. At `expires_at`, stop.",
  ],
  [
    "The license’s end",
    "`expires_at` is never later: `validity_period` plus its grace. Stop then.",
  ],
  [
    "5xx or 429",
    "Retry after `Retry-After`, or after 1, 2, 4, … 60 s, with the same `Idempotency-Key`.",
  ],
  [
    "`floating_not_available` on a heartbeat",
    "The slot was lost and all are taken. Tell the user, let the work be saved, and try again.",
  ],
  [
    "Any other 4xx on a heartbeat",
    "Repeating it does not help. Show `message` to the user; `code` says what to do.",
  ],
  [
    "`registered_at` changed",
    "There was a gap: the slot was lost and taken again. Others may have used it meanwhile.",
  ],
  [
    "After sleep",
    "`register` at once, then compare `registered_at`. The same value: the slot was never lost.",
  ],
  [
    "End",
    "`unregister`. If it fails or says `user_not_registered`, a slot that is not borrowed ends itself.",
  ],
  [
    "Floating features",
    "`featureRegister`, and again as heartbeat: at a third of the feature’s own `floating_timeout`.",
  ],
  [
    "A feature’s slot",
    "Needs its own heartbeat besides `register`, and ends with the license’s slot at the latest.",
  ],
  [
    "Before going offline",
    "`borrow` with `X-Nonce`. Keep `borrowed_until`, the `lease` and the license beside it.",
  ],
  [
    "Borrowed and offline",
    "No heartbeat is needed. Check the lease at each start. Stop at its `exp`.",
  ],
  [
    "The next lease",
    "Online again: `borrow` with a later `borrowed_until` and the same `X-Nonce`.",
  ],
  [
    "End of a borrow",
    "`unregister` while online. If that fails, the slot stays taken until `borrowed_until`.",
  ],
  [
    "`early_return_not_allowed`",
    "The license forbids an early return: the slot stays taken until `borrowed_until`.",
  ],
  [
    'Login (`client_auth = "login"`)',
    "`GET /auth` with HTTP Basic gives a token for an hour. At 401, log in again.",
  ],
  [
    "Names with a login",
    "`ada` acts as `ada` and as `ada#ws-17`; another name is 403 `forbidden`.",
  ],
  [
    "Clocks",
    "Times are the server’s. Compare them with your own clock, with 60 s of leeway, also in a lease.",
  ],
  ["`add_consumption` with `{}`", "Counts 1."],
  [
    "An empty body; no `Content-Type`",
    "400 `invalid_json`; 415 `unsupported_media_type`. Send at least `{}` as `application/json`.",
  ],
  [
    "The vendor’s root key",
    "`jwk` in the payload of `trust.jwt`. The demo’s: `demo/vendor/trust.jwt` in its data folder.",
  ],
  [
    "After `berth vendor key retire`",
    "The root key stays. Add the stolen key to `retired` when all licenses were issued again.",
  ],
  [
    "Checking with PyJWT",
    "`.strip()` what you read. Pass `leeway=60`, and `verify_iat` off. Compare `typ` yourself.",
  ],
];

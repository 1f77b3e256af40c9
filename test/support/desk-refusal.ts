import { DeskRefused } from "../../src/desk/desk-refused.ts";

/** The message and the hint with which the desk refuses an attempt. */
export async function refusal(attempt: Promise<unknown>): Promise<string> {
  const { message, hint } = await catchDeskRefusal(attempt);
  return `${message}; ${hint}`;
}

/** Throws any other error, and if there is none. */
export async function catchDeskRefusal(attempt: Promise<unknown>): Promise<DeskRefused> {
  try {
    await attempt;
  } catch (error) {
    if (error instanceof DeskRefused) return error;
    throw error;
  }
  throw new Error("the desk did not refuse the attempt");
}

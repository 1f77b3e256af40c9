/** A command that the desk refuses, with a hint for the user. */
export class DeskRefused extends Error {
  override readonly name = "DeskRefused";
  readonly hint: string;

  constructor(message: string, hint: string) {
    super(message);
    this.hint = hint;
  }
}

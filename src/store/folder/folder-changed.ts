/**
 * A file or folder that the server holds open was removed or replaced under its name. Exit code 1.
 */
export class FolderChanged extends Error {
  readonly path: string;
  readonly hint: string;

  constructor(path: string, message: string, hint: string) {
    super(message);
    this.name = "FolderChanged";
    this.path = path;
    this.hint = hint;
  }
}

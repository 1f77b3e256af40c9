/** Hands a reply to the browser as a file, under the name the server gave it. */
export async function save(response: Response, otherwise: string): Promise<string> {
  const said = response.headers.get("content-disposition") ?? "";
  const name = /filename="([^"/\\]+)"/.exec(said)?.[1] ?? otherwise;
  const url = URL.createObjectURL(await response.blob());
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // Not at once: the browser begins to read it a little later.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
  return name;
}

/** Whether a client accepts gzip. A coding with a weight of 0 is not accepted. */
export const acceptsGzip = ({ headers }: Request): boolean =>
  (headers.get("accept-encoding") ?? "").split(",").some((coding) => {
    const [name = "", weight = ""] = coding.split(";");
    return name.trim().toLowerCase() === "gzip" && !/^\s*q=0(?:\.0*)?\s*$/i.test(weight);
  });

export * from "./api.ts";
export * from "./errors.ts";
export * from "./requests.ts";
export { each, type CallOptions, type Listed, type ServerEvent, type Settings, type Upload } from "./http.ts";
